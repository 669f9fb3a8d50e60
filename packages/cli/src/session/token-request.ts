/** Requests tokens from the token endpoint of a user domain (RFC 6749). */

import type { Transport } from '../http/https-transport.ts';
import { membersOf, parseJson, problemError, unexpectedResponse } from '../http/problem-details.ts';
import { CommandError } from '../runtime/command-error.ts';
import type { Profile } from './profiles.ts';

export type GrantedToken = {
  readonly accessToken: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly refreshToken?: string;
};

/** For clock differences and network delay. */
const expiryMarginMs = 30_000;

export const tokenUrl = ({ authUrl, userDomainId }: Profile): URL =>
  new URL(`/oauth2/v1/${encodeURIComponent(userDomainId)}/token`, authUrl);

export async function requestToken(
  transport: Transport,
  profile: Profile,
  grant: Readonly<Record<string, string>>,
  now: number,
): Promise<GrantedToken> {
  const url = tokenUrl(profile);
  const answer = await transport.send({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams({ client_id: profile.clientId, ...grant }).toString(),
  });
  if (answer.status !== 200) throw loginError(problemError(answer), answer.status, profile);
  const {
    access_token: accessToken,
    expires_in: seconds,
    refresh_token: refreshToken,
  } = membersOf(parseJson(answer.body));
  if (typeof accessToken !== 'string') throw unexpectedResponse(answer, url.host);
  const lifetimeMs = typeof seconds === 'number' ? seconds * 1000 : 0;
  return {
    accessToken,
    expiresAt: now + Math.max(0, lifetimeMs - expiryMarginMs),
    ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
  };
}

/** The endpoint rejects credentials with 400, 401 or 404. */
function loginError(fault: CommandError, status: number, profile: Profile): CommandError {
  if (![400, 401, 404].includes(status)) return fault;
  return new CommandError(
    'notSignedIn',
    `The platform did not sign in ${profile.clientId}: ${fault.message}`,
    {
      more: [...fault.more, 'Sign in again: switchyard login'],
      facts: fault.facts,
    },
  );
}
