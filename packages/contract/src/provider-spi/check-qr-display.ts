/** Checks the display content of a provider: only pictures and codes without active content. */
import type { QrDisplay } from './value-schemas.ts';

const base64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;
/** EMVCo limits a code to 512 characters. */
const codeMaxChars = 512;
const addressMaxChars = 2000;
/**
 * Larger than the display of any terminal. The limit also prevents small files that expand to
 * gigabytes.
 */
const sideMaxPixels = 4096;

const pngSignature = '\u0089PNG\r\n\u001a\n';
const headerChunk = 'IHDR';
const widthAt = 16;
const heightAt = 20;
const headerEnd = 24;

const number32 = (bytes: string, at: number) =>
  [0, 1, 2, 3].reduce((sum, each) => sum * 256 + bytes.charCodeAt(at + each), 0);

function pngFault(bytes: string): string | undefined {
  if (!bytes.startsWith(pngSignature) || bytes.slice(12, widthAt) !== headerChunk) {
    return 'is no PNG';
  }
  if (bytes.length < headerEnd) return 'is no PNG';
  const sides = [number32(bytes, widthAt), number32(bytes, heightAt)];
  return sides.every((side) => side > 0 && side <= sideMaxPixels)
    ? undefined
    : `has a side of 0 or of more than ${sideMaxPixels} pixels`;
}

/** SVG content that can run code, load data or expand. */
const active =
  /<!|<\?(?!xml\s)|<(?:[\w-]+:)?(?:script|foreignobject|iframe|object|embed|image|use|style|link|a|animate\w*|set|handler|listener)[\s/>]|\son\w+\s*=|(?:href|src)\s*=|url\s*\(|javascript:|&#/i;

function svgFault(bytes: string): string | undefined {
  const text = bytes.replace(/^\u00ef\u00bb\u00bf/, '').trimStart();
  if (!/^(?:<\?xml\s[^>]{0,200}\?>\s*)?<svg[\s>]/.test(text)) return 'is no SVG';
  if (!text.trimEnd().endsWith('</svg>')) return 'is no whole SVG';
  return active.test(text)
    ? 'holds more than a drawing: a script, a reference or an entity'
    : undefined;
}

const checkedPart = /^(000201.*6304)([0-9A-Fa-f]{4})$/s;
const polynomial = 0x1021;

/** CRC-16/CCITT-FALSE over the UTF-8 bytes, as EMVCo defines it. */
function checkSum(text: string): number {
  let sum = 0xffff;
  for (const byte of new TextEncoder().encode(text)) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit += 1) {
      sum = ((sum << 1) ^ ((sum & 0x8000) === 0 ? 0 : polynomial)) & 0xffff;
    }
  }
  return sum;
}

/** Checks the check sum, because wallets do not accept a code with a wrong one. */
function codeFault(text: string): string | undefined {
  if (text.length > codeMaxChars) return `is longer than ${codeMaxChars} characters`;
  if (/\p{Cc}/u.test(text)) return 'holds control characters';
  const [, checked, sum] = checkedPart.exec(text) ?? [];
  if (checked === undefined || sum === undefined) return 'is no EMV merchant-presented code';
  return Number.parseInt(sum, 16) === checkSum(checked) ? undefined : 'has a wrong check sum';
}

const runs = new Set(['javascript:', 'data:', 'vbscript:', 'file:', 'blob:', 'about:', 'http:']);

function addressFault(text: string): string | undefined {
  if (text.length > addressMaxChars) return `is longer than ${addressMaxChars} characters`;
  const scheme = /^([a-z][a-z0-9+.-]{0,31}:)[^\s\p{Cc}]+$/iu.exec(text)?.[1];
  if (scheme === undefined) return 'is no address';
  if (runs.has(scheme.toLowerCase())) return `may not begin with ${scheme.toLowerCase()}`;
  return undefined;
}

/**
 * Returns the fault of a display, or undefined if a terminal may show it.
 *
 * @example
 * displayFault({ type: 'url', data: 'javascript:alert(1)' }); // may not begin with javascript:
 */
export function displayFault({ type, data }: QrDisplay): string | undefined {
  if (type === 'url') return addressFault(data);
  if (type === 'text/emvqr') return codeFault(data);
  if (!base64.test(data)) return 'is no base64';
  const bytes = atob(data);
  return type === 'image/png' ? pngFault(bytes) : svgFault(bytes);
}
