// Draws a QR code as a picture that stands in the page itself: no address to fetch, nothing to keep.
import { toString as draw } from 'qrcode';

/** Level M: a scratched screen may hide an eighth of it. */
export async function qrPicture(text: string): Promise<string> {
  const svg = await draw(text, { type: 'svg', errorCorrectionLevel: 'M', margin: 0 });
  return `data:image/svg+xml;base64,${Buffer.from(svg).toString('base64')}`;
}
