/**
 * How a terminal is claimed: by its manufacturer certificate, or by a code that a user reads from
 * it.
 */
import { randomInt } from 'node:crypto';
import { type ClaimStatus, claimStatuses, defined } from '@switchyard/contract';
import { requireSecureUrl } from '@switchyard/sdk-core';
import type { DeviceTls } from '../network/http-client.ts';
import { createDeviceHttpClient } from '../network/http-client.ts';
import { createDeviceError, DeviceError } from '../support/device-error.ts';
import { responseError } from './token-requests.ts';

/** Crockford's base 32, without letters that look like digits. */
const claimCodeAlphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const groupLength = 4;

/**
 * Makes a claim code for the display of the terminal. The code is valid for 15 minutes after the
 * terminal has sent it, so make a new one for each display.
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
    Array.from(
      { length: groupLength },
      () => claimCodeAlphabet[randomInt(claimCodeAlphabet.length)],
    ).join('');
  return `${group()}-${group()}`;
}

/**
 * The address for a claim request, and its content.
 *
 * @example
 * const options: ClaimTerminalOptions = {
 *   deviceAuthUrl: 'https://pay.example:9021', userDomain: 'acme', tls: { ca, cert, key },
 * };
 */
export type ClaimTerminalOptions = {
  /** The address with its port, 9021. */
  readonly deviceAuthUrl: string;
  readonly tls: DeviceTls;
  /** The user domain of the organisation; required with a manufacturer certificate. */
  readonly userDomain?: string;
  /** The code on the display; for a terminal with a certificate of the platform. */
  readonly claimCode?: string;
  readonly signal?: AbortSignal;
};

/**
 * Requests the claim of the terminal. With a manufacturer certificate the answer is final. With a
 * claim code, call it about every ten seconds until a user has entered the code.
 *
 * @param options - the address, the certificate and the data to send
 * @returns `Claimed`, or `Unclaimed` for any reason
 * @throws DeviceError with the code of the refusal
 * @example
 * ```ts
 * const status = await claimTerminal({ deviceAuthUrl, tls, userDomain: 'acme' });
 * if (status === 'Unclaimed') display.show('This terminal is not registered');
 * ```
 */
export async function claimTerminal(options: ClaimTerminalOptions): Promise<ClaimStatus> {
  const { deviceAuthUrl, tls, userDomain, claimCode, signal } = options;
  requireSecureUrl(deviceAuthUrl, 'deviceAuthUrl', 'https', createDeviceError);
  const http = createDeviceHttpClient(tls);
  try {
    const answer = await http.request({
      method: 'POST',
      url: `${deviceAuthUrl.replace(/\/+$/, '')}/oauth2-mtls/v1/claims`,
      body: JSON.stringify(defined({ userDomain, claimCode })),
      signal,
      headers: { 'content-type': 'application/json', accept: 'application/json' },
    });
    if (answer.status !== 200) throw responseError(answer);
    const { claimStatus } = JSON.parse(answer.body) as { claimStatus?: unknown };
    const status = claimStatuses.find((each) => each === claimStatus);
    if (status !== undefined) return status;
    throw new DeviceError('Refused', 'the response to the claim is invalid', {
      code: 'bad_answer',
      retryable: true,
    });
  } finally {
    http.close();
  }
}
