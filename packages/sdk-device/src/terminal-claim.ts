/** How a terminal becomes claimed: by the certificate of its maker, or by a code that a person reads from it. */
import { randomInt } from 'node:crypto';
import { type ClaimStatus, claimStatuses, defined } from '@switchyard/contract';
import { demandHttps } from './addresses.ts';
import { DeviceError } from './errors.ts';
import { createHttp } from './http.ts';
import type { DeviceTls } from './tls.ts';
import { refusalOf } from './token-requests.ts';

/** Crockford's base 32: no letter looks like a digit. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const groupLength = 4;

/**
 * Makes a claim code for the display of the terminal. It is good for 15 minutes after the terminal has
 * sent it, so a new one is made each time that the terminal shows one.
 *
 * @returns eight characters in two groups
 * @example
 * ```ts
 * const claimCode = makeClaimCode();
 * display.show(`Claim code: ${claimCode}`);
 * ```
 */
export function makeClaimCode(): string {
  const group = () =>
    Array.from({ length: groupLength }, () => alphabet[randomInt(alphabet.length)]).join('');
  return `${group()}-${group()}`;
}

/**
 * Where a terminal asks to be claimed, and what it sends.
 *
 * @example
 * const options: ClaimTerminalOptions = {
 *   deviceAuthUrl: 'https://pay.example:9021', userDomain: 'acme', tls: { ca, cert, key },
 * };
 */
export type ClaimTerminalOptions = {
  /** With its port, 9021. */
  readonly deviceAuthUrl: string;
  readonly tls: DeviceTls;
  /** Of the organisation that the terminal works for; needed with a certificate of the maker. */
  readonly userDomain?: string;
  /** That the terminal shows; for a terminal with a certificate of the platform. */
  readonly claimCode?: string;
  readonly signal?: AbortSignal;
};

/**
 * Asks the platform to claim the terminal. With a certificate of the maker the answer is final; with a
 * claim code the terminal asks again, every ten seconds or so, until a person has entered the code.
 *
 * @param options - where, with which certificate, and what is sent
 * @returns `Claimed`, or `Unclaimed` for each reason
 * @throws DeviceError with the code of the refusal
 * @example
 * ```ts
 * const status = await claimTerminal({ deviceAuthUrl, tls, userDomain: 'acme' });
 * if (status === 'Unclaimed') display.show('This terminal is not registered');
 * ```
 */
export async function claimTerminal(options: ClaimTerminalOptions): Promise<ClaimStatus> {
  const { deviceAuthUrl, tls, userDomain, claimCode, signal } = options;
  demandHttps(deviceAuthUrl, 'deviceAuthUrl');
  const http = createHttp(tls);
  try {
    const answer = await http.ask({
      method: 'POST',
      url: `${deviceAuthUrl.replace(/\/+$/, '')}/oauth2-mtls/v1/claims`,
      body: JSON.stringify(defined({ userDomain, claimCode })),
      signal,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    });
    if (answer.status !== 200) throw refusalOf(answer);
    const { claimStatus } = JSON.parse(answer.body) as { claimStatus?: unknown };
    const status = claimStatuses.find((known) => known === claimStatus);
    if (status !== undefined) return status;
    throw new DeviceError('Refused', 'the answer to the claim is none', {
      code: 'bad_answer',
      retryable: true,
    });
  } finally {
    http.close();
  }
}
