// Validates terminal id ranges, countries, time zones and identifiers.
// The import takes one table, because the package's entry also loads country names in 80 languages.
import codes from 'i18n-iso-countries/codes.json' with { type: 'json' };

export type TerminalIdRange = { readonly from: string; readonly to: string };

/**
 * A range has a fixed head and a numeric tail of one length, such as TERM0001 to TERM9999, so that the server can
 * count through its terminals.
 */
export function isTerminalIdRange({ from, to }: TerminalIdRange): boolean {
  const tail = /\d+$/.exec(from)?.[0] ?? '';
  const head = from.slice(0, from.length - tail.length);
  const end = to.slice(head.length);
  const isNumeric = tail !== '' && to.startsWith(head) && /^\d+$/.test(end);
  return isNumeric && from.length === to.length && from <= to;
}

const countries: ReadonlySet<string> = new Set(codes.map(([alpha2 = '']) => alpha2));

/** True for an alpha-2 code of ISO 3166-1. */
export function isCountry(code: string): boolean {
  return countries.has(code);
}

/** True for a name of the IANA database; Intl alone also accepts offsets such as +02:00. */
export function isTimeZone(name: string): boolean {
  if (!/^[A-Za-z]/.test(name)) return false;
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch {
    return false;
  }
}

/** Derives the client id from the identifier of a point of sale. */
export function posClientId(pointOfSaleId: string): string {
  return `pos-${pointOfSaleId.toLowerCase()}`;
}
