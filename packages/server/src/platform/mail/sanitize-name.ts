// Removes link-like text from names in mails, which come from sign-ups and users.
import { mailNameLengthMax } from '@switchyard/contract';

const notInNames = /[^\p{L}\p{M}\p{Nd} '’‐.-]|\.(?=\p{L})/gu;
/** The full stops of an IPv4 address, which some mail programs turn into a link. */
const stopsOfAddresses = /(?<=\p{Nd})\.(?=\p{Nd}+\.\p{Nd})|(?<=\.\p{Nd}+)\.(?=\p{Nd})/gu;

/**
 * Replaces every character that a name in a mail must not contain, so that the rest stays readable.
 *
 * @example sanitizeMailName('Click http://evil.example'); // 'Click http evil example'
 */
export function sanitizeMailName(name: string): string {
  const plain = name
    .normalize('NFC')
    .replace(notInNames, ' ')
    .replace(stopsOfAddresses, ' ')
    .replace(/ +/g, ' ')
    .trim();
  return [...plain].slice(0, mailNameLengthMax).join('').trim();
}
