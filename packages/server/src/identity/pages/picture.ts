// Draws a QR code as a picture that stands in the page itself: no address to fetch, nothing to keep.

/** Level M: a scratched screen may hide an eighth of it. */
export async function qrPicture(text: string): Promise<string> {
  // Few pages show one: what draws it is loaded with the first.
  const { toString: draw } = await import('qrcode');
  const svg = await draw(text, { type: 'svg', errorCorrectionLevel: 'M', margin: 0 });
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}
