/** The check digit of card numbers. */

/**
 * Returns whether a row of digits ends in the right check digit.
 *
 * Source: ISO/IEC 7812-1, annex B (the Luhn formula).
 *
 * @param digits - digits alone
 * @returns true where the check digit is right; false for an empty text or other characters
 * @example
 * passesLuhn('4111111111111111'); // true
 */
export function passesLuhn(digits: string): boolean {
  let sum = 0;
  for (let index = 0; index < digits.length; index += 1) {
    const digit = digits.charCodeAt(digits.length - 1 - index) - 48;
    if (digit < 0 || digit > 9) return false;
    const doubled = digit * 2;
    sum += index % 2 === 0 ? digit : doubled > 9 ? doubled - 9 : doubled;
  }
  return digits.length > 0 && sum % 10 === 0;
}
