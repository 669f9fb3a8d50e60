// What provisioning takes for a valid terminal range, country, time zone and acquirer address.
// The table alone: the door of the package reads the names of countries in eighty languages.
import codes from 'i18n-iso-countries/codes.json' with { type: 'json' };

export type TerminalIdRange = { readonly from: string; readonly to: string };

/**
 * Whether a range is a fixed head and a counted tail, such as TERM0001 to TERM9999: only then can
 * the terminals of it be counted through.
 */
export function isTerminalIdRange({ from, to }: TerminalIdRange): boolean {
  const tail = /\d+$/.exec(from)?.[0] ?? '';
  const head = from.slice(0, from.length - tail.length);
  const end = to.slice(head.length);
  return tail !== '' && to.startsWith(head) && /^\d+$/.test(end) && from <= to;
}

const countries: ReadonlySet<string> = new Set(codes.map(([alpha2 = '']) => alpha2));

/** An alpha-2 code of ISO 3166-1. */
export function isCountry(code: string): boolean {
  return countries.has(code);
}

/** A name of the IANA database; Intl alone would take offsets such as +02:00 as well. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

const uuidPattern = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** Anything else is simply unknown: the database would call it a fault. */
export function isUuid(text: string): boolean {
  return uuidPattern.test(text);
}

/** The terminal serial number, as devices and tills name it. */
export function tsnOf(device: { make: string; model: string; serialNumber: string }): string {
  return `${device.make}_${device.model}-${device.serialNumber}`;
}

/** The client id of a point of sale: whoever knows the one knows the other. */
export function tillClientId(pointOfSaleId: string): string {
  return `pos-${pointOfSaleId.toLowerCase()}`;
}
