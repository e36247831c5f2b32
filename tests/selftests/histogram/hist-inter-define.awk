# SPDX-License-Identifier: GPL-2.0
#
# Prints histograms with variables, expressions and actions, drawn by SEED: lines of a number,
# the event that the histogram is of, and what follows "hist:", separated by blanks.  Lines of one
# number belong together: the second and third refer to variables of those before.  There are
# COUNT lines, or up to two more.  Some are to be refused.  Of TOGETHER numbers, one may take snapshots, or none.
#
# The events in and out of group kprobes have the fields nn ss bb hh qq ww cc; the synthetic events are
# those of hist-inter-peer.

function draw(below) {
	seed = (seed * 16807) % 2147483647
	return seed % below
}

# pick("A B C"): one of these words, in which @ is a blank.
function pick(list,	parts, count) {
	count = split(list, parts, " ")
	list = parts[draw(count) + 1]
	gsub(/@/, " ", list)
	return list
}

# The kernel rounds quotients by constants up to 2^20 to no rule, unless they are powers of two.
function constant() {
	return pick("0 1 2 4 8 0x10 0100 1048577 4294967296")
}

# An operand: a field, a constant or one of the variables that can be read.
function operand() {
	if (refs && draw(3))
		return pick(refs)
	if (draw(4) == 0)
		return constant()
	return pick("nn nn ss bb hh qq ww common_cpu common_pid")
}

# The first operand, whose type is that of all.
function first() {
	return draw(3) ? pick("qq qq 4 1024 " refs) : operand()
}

function expression(	kind) {
	kind = draw(14)
	if (kind < 4)
		return first()
	if (kind < 8)
		return first() pick("+ - * /") operand()
	if (kind < 11)
		return first() pick("+ - * /") operand() pick("+ - * /") operand()
	if (kind == 11)
		return first() pick("+ -") operand() pick("* /") operand() pick("+ -") operand()
	return "-(" first() (draw(2) ? "" : pick("+ *") operand()) ")"
}

# Variables of texts and times.
function special() {
	return pick("cc common_comm cc common_timestamp.usecs common_timestamp common_pid.execname")
}

function add(event, text) {
	if (draw(3) == 0)
		text = text ":size=" pick("128 256")
	if (draw(5) == 0)
		text = text pick("@if@nn>3 @if@nn!=5&&ss<20 @if@cc~\"fp*\" @if@bb&1")
	print number, event, text
	count++
}

# What is emitted, with arguments that mostly fit.
function emission(own,	event, args) {
	event = pick("e_word e_word e_two e_text e_small")
	if (event == "e_word")
		args = pick(own " qq")
	else if (event == "e_two")
		args = pick(own " qq") "," pick(own " qq")
	else if (event == "e_text")
		args = pick("cc common_comm " texts) "," pick("qq " own)
	else
		args = pick("ss ss ss ss ss hh " own) "," pick("nn nn nn nn nn bb " own)
	if (draw(12) == 0)
		args = args "," pick("nn qq " own)
	else if (draw(12) == 0)
		sub(/,.*/, "", args)
	return draw(2) ? "trace(" event "," args ")" : event "(" args ")"
}

function saved(	list, n, many) {
	many = 1 + draw(3)
	for (n = 0; n < many; n++)
		list = list (n ? "," : "") pick("nn ss bb hh qq ww cc common_comm common_pid common_cpu")
	return "save(" list ")"
}

# An action of a histogram that has the variables "own", with a "$" before each, and gets "others".
function action(own, others,	kind) {
	kind = draw(10)
	if (kind < 4)
		return ":onmatch(kprobes.in)." emission(own " " others)
	kind = ":" pick("onmax onchange") "(" pick(own) ")."
	return kind (draw(2) ? saved() : emission(own " " others))
}

# What is to be refused, or is at the edge: the next of these.
function odd(	k, all, count) {
	k = pick("nn common_pid")
	count = split(\
		"keys=" k ":x=nn+:size=128 " \
		"keys=" k ":x=+nn " \
		"keys=" k ":x=-nn " \
		"keys=" k ":x=nn--(ss) " \
		"keys=" k ":x=-(nn)+ss " \
		"keys=" k ":x=-(nn " \
		"keys=" k ":x=(nn+ss) " \
		"keys=" k ":x=-(-(nn)) " \
		"keys=" k ":x=nn+ss+bb+qq+hh " \
		"keys=" k ":x=nn+ss+bb+qq " \
		"keys=" k ":x=-(nn+ss+bb+qq) " \
		"keys=" k ":x=nn/0 " \
		"keys=" k ":x=nn/0x0 " \
		"keys=" k ":x=4/2/0 " \
		"keys=" k ":x=cc+1 " \
		"keys=" k ":x=1+common_comm " \
		"keys=" k ":x=-(cc) " \
		"keys=" k ":x=5z " \
		"keys=" k ":x=0x " \
		"keys=" k ":x=99999999999999999999 " \
		"keys=" k ":x=nn.log2 " \
		"keys=" k ":x=nn.buckets=3 " \
		"keys=" k ":x=nn.percent " \
		"keys=" k ":x=nn.graph " \
		"keys=" k ":x=nn.hex " \
		"keys=" k ":x=nn.nosuch " \
		"keys=" k ":x=nosuch " \
		"keys=" k ":x=$nosuch " \
		"keys=" k ":x=kprobes.nosuch.$x " \
		"keys=" k ":x=kprobes.in.$nosuch " \
		"keys=" k ":x=kprobes.nosuch.nn " \
		"keys=" k ":x=common_timestamp.usecs-common_timestamp " \
		"keys=" k ":x=common_timestamp-common_timestamp " \
		"keys=" k ":x=common_timestamp.usecs-common_timestamp.usecs " \
		"keys=" k ":x=nn,x=ss " \
		"keys=" k ":x=nn:x=ss " \
		"keys=" k ":x= " \
		"keys=" k ":=nn " \
		"keys=" k ":x=nn,y " \
		"keys=" k ":x=nn,y= " \
		"keys=" k ":x=nn,,y=ss " \
		"keys=" k ":x=nn:y " \
		"keys=" k ":x=nn:onmax(x).save(nn) " \
		"keys=" k ":x=nn:onmax($y).save(nn) " \
		"keys=" k ":x=nn:onmax($).save(nn) " \
		"keys=" k ":x=nn:onmax().save(nn) " \
		"keys=" k ":x=nn:onmax($x).save() " \
		"keys=" k ":x=nn:onmax($x).save(nosuch) " \
		"keys=" k ":x=nn:onmax($x).save($x) " \
		"keys=" k ":x=nn:onmax($x).save(nn+ss) " \
		"keys=" k ":x=nn:onmax($x).save(nn,nn) " \
		"keys=" k ":x=nn:onmax($x).save(nn,ss):onchange($x).save(bb) " \
		"keys=" k ":x=nn:onmax($x).save(nn:vals=ss " \
		"keys=" k ":x=nn:onmax($x.save(nn) " \
		"keys=" k ":x=nn:onmax($x) " \
		"keys=" k ":x=nn:onmax($x). " \
		"keys=" k ":x=nn:onmax($x).nosuch(nn) " \
		"keys=" k ":x=nn:onmax($x).nosuch " \
		"keys=" k ":x=nn:onmax($x).trace(nosuch,nn) " \
		"keys=" k ":x=nn:onmax($x).trace(e_word) " \
		"keys=" k ":x=nn:onmax($x).trace() " \
		"keys=" k ":x=nn:onmax($x).e_word() " \
		"keys=" k ":x=nn:onmax($x).e_word(qq,qq) " \
		"keys=" k ":x=nn:onmax($x).e_word(cc) " \
		"keys=" k ":x=nn:onmax($x).e_word($nosuch) " \
		"keys=" k ":x=nn:onmax($x).e_word(nosuch) " \
		"keys=" k ":x=nn:onmax($x).snapshot(:size=128 " \
		"keys=" k ":x=nn:onmin($x).save(nn) " \
		"keys=" k ":x=nn:onmax($x).save(nn):onmax($x).e_word(qq) " \
		"keys=" k ":x=nn:onmax($x).save(nn):onchange($x).e_word(qq) " \
		"keys=" k ":onmatch(kprobes.in).save(nn) " \
		"keys=" k ":onmatch(kprobes.in).snapshot() " \
		"keys=" k ":onmatch(kprobes.nosuch).e_word(qq) " \
		"keys=" k ":onmatch(in).e_word(qq) " \
		"keys=" k ":onmatch().e_word(qq) " \
		"keys=" k ":onmatch(kprobes.in.x).e_word(qq) " \
		"keys=" k ":onmatch(kprobes.in).e_word(kprobes.out.qq) " \
		"keys=" k ":onmatch(kprobes.in).e_word(kprobes.nosuch.qq) " \
		"keys=" k ":onmatch(kprobes.in).e_word(qq " \
		"keys=$x:x=nn " \
		"keys=nn+$x:x=nn " \
		"keys=x=nn " \
		"keys=nn,x=nn " \
		"keys=nn+ss:x=nn " \
		"keys=nn+ss,common_pid:x=nn " \
		"keys=-(nn):x=nn " \
		"keys=nn*2:x=$y:y=nn " \
		"keys=5 " \
		"keys=cc+1 " \
		"keys=" k ":vals=cc " \
		"keys=" k ":vals=common_comm " \
		"keys=" k ":vals=x=nn " \
		"keys=" k ":vals=nn,x=ss " \
		"keys=" k ":vals=$x:x=nn " \
		"keys=" k ":vals=5 " \
		"keys=" k ":vals=nn.log2 " \
		"keys=" k ":vals=nn*2:sort=nn*2 " \
		"keys=" k ":x=nn:sort=x " \
		"keys=" k ":x=nn:sort=$x " \
		"keys=" k ":a=nn,b=nn,c=nn,d=nn,e=nn,f=nn,g=nn,h=nn,i=nn,j=nn,k=nn,l=nn,m=nn,o=nn,p=nn,q=nn " \
		"keys=" k ":A=nn,B=nn,C=nn,D=nn,E=nn,F=nn,G=nn,H=nn,I=nn,J=nn,K=nn,L=nn,M=nn,O=nn,P=nn,Q=nn,R=nn", all, " ")
	return all[odds++ % count + 1]
}

BEGIN {
	seed = SEED % 2147483646 + 1
	for (i = 0; i < 20; i++)
		draw(2)
	for (number = 1; count < COUNT; number++) {
		v = "v" number
		refs = texts = ""
		if (draw(20) < 12) {
			text = odd()
			# Names that no other line has.
			gsub(/x=/, v "x=", text)
			gsub(/\$x/, "$" v "x", text)
			add(pick("in out"), text)
			continue
		}
		keys = pick("common_pid common_pid nn nn nn,common_pid bb cc common_pid,bb qq ss common_cpu hh " \
			"common_comm nn.hex nn.log2 nn.buckets=7 common_pid.execname cc,nn")
		text = "keys=" keys
		if (draw(3) == 0)
			text = text ":vals=" pick("nn ss qq,bb nn.hex")
		text = text ":" v "_1=" expression()
		own = "$" v "_1"
		if (draw(2)) {
			text = text pick(", :") v "_2=" expression()
			own = own " $" v "_2"
		}
		time = draw(4) == 0
		if (time)
			text = text "," v "_t=common_timestamp.usecs"
		text_too = draw(3) == 0
		if (text_too)
			text = text "," v "_c=" pick("cc common_comm common_pid.execname")
		if (draw(4) == 0)
			text = text action(own)
		add("in", text)

		# Those of the other event, with their own key or, sometimes, another one.
		refs = own
		if (draw(4) == 0)
			refs = refs " kprobes.in." own
		sub(/in\.\$v[0-9]*_1 \$/, "in.$" v "_1 $", refs)
		texts = text_too ? "$" v "_c" : ""
		if (draw(12) == 0)
			keys = pick("nn common_pid qq common_pid,nn nn,bb")
		text = "keys=" keys
		if (draw(5) == 0)
			text = text ":vals=" pick("nn qq,ss $" v "_1")
		text = text ":" v "_3=" expression()
		own = "$" v "_3"
		if (draw(2)) {
			text = text "," v "_4=" expression()
			own = own " $" v "_4"
		}
		if (time)
			text = text "," v "_lat=common_timestamp.usecs-$" v "_t"
		if (draw(6) == 0)
			text = text "," v "_z=" special()
		if (time && draw(2))
			text = text ":onmatch(kprobes.in).e_took($" v "_lat)"
		# The kernel takes snapshots for one histogram at a time.
		group = int((number - 1) / TOGETHER)
		if (group % 3 == 1 && !snapshots[group]++)
			text = text ":" pick("onmax onchange") "(" pick(own) ").snapshot()"
		for (actions = draw(4); actions > 0; actions--)
			text = text action(own, "$" v "_1")
		add(pick("out out out in"), text)

		if (draw(4) == 0) {
			refs = own
			add("out", "keys=" keys ":" v "_5=" expression() action("$" v "_5"))
		}
	}
}
