// Names in mails come from sign-ups and users: a mailbox must not make a link of them.
import { mailNameLengthMax } from '@switchyard/contract';

/**
 * Replaces every character that a name in a mail must not hold, so that the rest stays readable.
 *
 * @example mailName('Click http://evil.example'); // 'Click http evil example'
 */
export function sanitizeMailName(name: string): string {
  const plain = name
    .normalize('NFC')
    .replace(/[^\p{L}\p{M}\p{Nd} '’‐.-]|\.(?=\p{L})/gu, ' ')
    .replace(/ +/g, ' ')
    .trim();
  return [...plain].slice(0, mailNameLengthMax).join('').trim();
}
