// Address verification: what the host says of a postal code and a house number.

const asked = '82';
const postalPlaces = 9;

/** The text of a subelement of DE48: tag and length of two digits each, then the text. */
function subelementOf(field: string, tag: string): string | undefined {
  let rest = field;
  while (rest.length >= 4) {
    const length = Number(rest.slice(2, 4));
    if (!/^\d{4}/.test(rest) || rest.length < 4 + length) return undefined;
    if (rest.startsWith(tag)) return rest.slice(4, 4 + length);
    rest = rest.slice(4 + length);
  }
  return undefined;
}

/**
 * The letter for an address, or nothing where none was sent: a last digit of 9 does not match,
 * and a postal code of zeros cannot be checked.
 *
 * @param field DE48 of the request
 * @example
 * ```ts
 * addressResult('8211SW1A2AA  10'); // 'Y'
 * ```
 */
export function addressResult(field: string | undefined): string | undefined {
  const address = field === undefined ? undefined : subelementOf(field, asked);
  if (address === undefined) return undefined;
  const postal = address.slice(0, postalPlaces).trimEnd();
  const house = address.slice(postalPlaces);
  if (/^0+$/.test(postal)) return 'U';
  const houseFits = !house.endsWith('9');
  if (postal.endsWith('9')) return houseFits ? 'A' : 'N';
  return houseFits ? 'Y' : 'Z';
}
