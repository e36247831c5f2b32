// SPDX-License-Identifier: GPL-2.0
//
// Looks at the SVG in "picture", which is base64, and writes what it finds into the page:
//
//   error     "none", or what the parser says
//   marks     rectangles that are wider than nothing and tell what they are
//   titles    what all rectangles tell
//   outside   texts that leave the picture
//   colours   how many are painted
//   painted   pixels of 1000 that are not white

function found(error, fields) {
	const out = document.createElement('pre');
	out.id = 'result';
	out.textContent = ['error=' + error.replace(/\s+/g, '_'), ...fields].join(' ');
	document.body.append(out);
}

function pixels(image) {
	const canvas = document.createElement('canvas');
	canvas.width = image.naturalWidth || 960;
	canvas.height = image.naturalHeight || 600;
	const context = canvas.getContext('2d');
	context.fillStyle = '#fff';
	context.fillRect(0, 0, canvas.width, canvas.height);
	context.drawImage(image, 0, 0);
	const data = context.getImageData(0, 0, canvas.width, canvas.height).data;
	const colours = new Set();
	let painted = 0;
	for (let at = 0; at < data.length; at += 4) {
		const colour = (data[at] << 16) | (data[at + 1] << 8) | data[at + 2];
		colours.add(colour);
		painted += colour !== 0xffffff;
	}
	return ['colours=' + colours.size, 'painted=' + Math.round((painted * 4000) / data.length)];
}

function look() {
	const bytes = Uint8Array.from(atob(picture), (c) => c.charCodeAt(0));
	const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
	const parsed = new DOMParser().parseFromString(text, 'image/svg+xml');
	const error = parsed.querySelector('parsererror');
	if (error) {
		found(error.textContent, []);
		return;
	}
	const svg = document.importNode(parsed.documentElement, true);
	document.body.append(svg);
	const size = svg.viewBox.baseVal;
	// In a flame graph the title is of a group.
	const marks = [...svg.querySelectorAll('rect')].filter((rect) => {
		const title = rect.querySelector('title') || (rect.parentElement.localName === 'g' &&
			rect.parentElement.querySelector(':scope > title'));
		return title && title.textContent && rect.getBBox().width > 0;
	});
	const outside = [...svg.querySelectorAll('text')].filter((text) => {
		const box = text.getBBox();
		return box.x < size.x - 1 || box.y < size.y - 1 ||
			box.x + box.width > size.x + size.width + 1 ||
			box.y + box.height > size.y + size.height + 1;
	});
	const image = new Image();
	image.onload = () => found('none', [
		'marks=' + marks.length,
		'titles=' + svg.querySelectorAll('title').length,
		'outside=' + outside.length,
		...pixels(image),
	]);
	image.onerror = () => found('no image', []);
	image.src = 'data:image/svg+xml;base64,' + picture;
}

look();
