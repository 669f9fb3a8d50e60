/** Bar codes of wallets: plain digits that a consumer shows, good for one payment and for a minute. */

/**
 * A wallet that is recognized by the first digits of its bar codes.
 *
 * @example
 * const wallet: Wallet = 'WeChat';
 */
export type Wallet = 'WeChat' | 'Alipay';

/** Length and first digits, as the wallets publish them. */
const patterns: Readonly<Record<Wallet, RegExp>> = {
  WeChat: /^1[0-5]\d{16}$/,
  Alipay: /^(?:2[5-9]|30)\d{14,22}$/,
};

/**
 * The wallet of a scanned bar code.
 *
 * Source: WeChat Pay, Quick Pay: 18 digits that begin with 10 to 15; Alipay, in-store payment: 16 to
 * 24 digits that begin with 25 to 30.
 *
 * @param text - as scanned
 * @returns the wallet; nothing where it is the bar code of neither
 * @example
 * walletOfCode('134567890123456789'); // 'WeChat'
 */
export function walletOfCode(text: string): Wallet | undefined {
  const match = Object.entries(patterns).find(([, pattern]) => pattern.test(text));
  return match?.[0] as Wallet | undefined;
}
