// Address verification: the result letter for a postal code and a house number.

const addressTag = '82';
const postalCodeLength = 9;

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
 * The letter for an address, or undefined where the request has no address. A last digit of 9 does not match;
 * a postal code of zeros cannot be checked.
 *
 * @param field DE48 of the request
 * @example
 * ```ts
 * addressResult('8211SW1A2AA  10'); // 'Y'
 * ```
 */
export function addressVerificationResult(field: string | undefined): string | undefined {
  const address = field === undefined ? undefined : subelementOf(field, addressTag);
  if (address === undefined) return undefined;
  const postalCode = address.slice(0, postalCodeLength).trimEnd();
  const houseNumber = address.slice(postalCodeLength);
  if (/^0+$/.test(postalCode)) return 'U';
  const matchesAddress = !houseNumber.endsWith('9');
  if (postalCode.endsWith('9')) return matchesAddress ? 'A' : 'N';
  return matchesAddress ? 'Y' : 'Z';
}
