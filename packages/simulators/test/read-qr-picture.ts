// Reads a picture as a telephone would: PNG and SVG into pixels, and the pixels by an independent decoder.
import assert from 'node:assert/strict';
import { inflateSync } from 'node:zlib';
import type { QrDisplay } from '@switchyard/sdk-provider';
import jsqr from 'jsqr';

type Pixels = { width: number; height: number; data: Uint8ClampedArray };

/** The library is CommonJS, and its types do not say so. */
const decode = jsqr as unknown as typeof jsqr.default;
const rgba = 4;
const white = 255;

const blank = (width: number, height: number): Pixels => ({
  width,
  height,
  data: new Uint8ClampedArray(width * height * rgba).fill(white),
});

/** PNG 1.2, chapter 6.6. */
function paeth(left: number, above: number, corner: number): number {
  const guess = left + above - corner;
  const [byLeft, byAbove, byCorner] = [left, above, corner].map((each) => Math.abs(guess - each));
  if (Number(byLeft) <= Number(byAbove) && Number(byLeft) <= Number(byCorner)) return left;
  return Number(byAbove) <= Number(byCorner) ? above : corner;
}

function chunksOf(file: Buffer): Map<string, Buffer> {
  const chunks = new Map<string, Buffer>();
  for (let at = 8; at < file.length; ) {
    const length = file.readUInt32BE(at);
    const name = file.toString('latin1', at + 4, at + 8);
    const data = file.subarray(at + 8, at + 8 + length);
    chunks.set(name, Buffer.concat([chunks.get(name) ?? Buffer.alloc(0), data]));
    at += length + 12;
  }
  return chunks;
}

const channelsOfType: Readonly<Record<number, number>> = { 0: 1, 2: 3, 4: 2, 6: 4 };

function pixelsOfPng(file: Buffer): Pixels {
  const chunks = chunksOf(file);
  const header = chunks.get('IHDR');
  const packed = chunks.get('IDAT');
  assert.ok(header && packed, 'a PNG has a header and data');
  const [width, height] = [header.readUInt32BE(0), header.readUInt32BE(4)];
  assert.equal(header[8], 8, 'eight bits a channel');
  const channels = channelsOfType[header[9] ?? -1];
  assert.ok(channels, 'colours without a palette');
  const raw = inflateSync(packed);
  const stride = width * channels;
  const rows = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)] ?? 0;
    for (let x = 0; x < stride; x += 1) {
      const left = x < channels ? 0 : (rows[y * stride + x - channels] ?? 0);
      const above = y === 0 ? 0 : (rows[(y - 1) * stride + x] ?? 0);
      const corner = x < channels || y === 0 ? 0 : (rows[(y - 1) * stride + x - channels] ?? 0);
      const added = [0, left, above, (left + above) >> 1, paeth(left, above, corner)][filter] ?? 0;
      rows[y * stride + x] = ((raw[y * (stride + 1) + 1 + x] ?? 0) + added) & 0xff;
    }
  }
  const pixels = blank(width, height);
  for (let at = 0; at < width * height; at += 1) {
    pixels.data.fill(rows[at * channels] ?? 0, at * rgba, at * rgba + rgba - 1);
  }
  return pixels;
}

const modulePixels = 4;

/** The one path of strokes that the drawing consists of: `M x y h length`, `m dx dy`. */
function pixelsOfSvg(text: string): Pixels {
  const side = Number(/viewBox="0 0 (\d+) \1"/.exec(text)?.[1]) * modulePixels;
  const path = /stroke="#000000" d="([^"]+)"/.exec(text)?.[1];
  assert.ok(side > 0 && path !== undefined, 'a drawing of strokes');
  const pixels = blank(side, side);
  let [x, y] = [0, 0];
  for (const [, command = '', numbers = ''] of path.matchAll(/([Mmh])([-\d. ]+)/g)) {
    const [first = 0, second = 0] = (numbers.match(/-?\d*\.?\d+/g) ?? []).map(Number);
    if (command === 'M') [x, y] = [first, second];
    else if (command === 'm') [x, y] = [x + first, y + second];
    else {
      for (let row = 0; row < modulePixels; row += 1) {
        const line = Math.floor(y) * modulePixels + row;
        const from = (line * side + x * modulePixels) * rgba;
        for (let at = from; at < from + first * modulePixels * rgba; at += rgba) {
          pixels.data.fill(0, at, at + rgba - 1);
        }
      }
      x += first;
    }
  }
  return pixels;
}

/** The text that a camera would read; an error where it reads none. */
export function readPicture({ type, data }: QrDisplay): string {
  if (type === 'text/emvqr') return data;
  const file = Buffer.from(data, 'base64');
  const pixels = type === 'image/png' ? pixelsOfPng(file) : pixelsOfSvg(file.toString('utf8'));
  const found = decode(pixels.data, pixels.width, pixels.height);
  assert.ok(found, `no code is found in the ${type}`);
  return found.data;
}
