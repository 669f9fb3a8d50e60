/** Asks the token endpoint of a user domain (RFC 6749). */

import type { Transport } from '../http/https-transport.ts';
import { membersOf, problemFault, readJson, strangeAnswer } from '../http/problem-details.ts';
import { CommandFault } from '../runtime/command-error.ts';
import type { Profile } from './profiles.ts';

export type Granted = {
  readonly accessToken: string;
  /** Epoch milliseconds. */
  readonly expiresAt: number;
  readonly refreshToken?: string;
};

/** Between two clocks and two ends of a line. */
const graceMs = 30_000;

export const tokenUrl = ({ authUrl, userDomainId }: Profile): URL =>
  new URL(`/oauth2/v1/${encodeURIComponent(userDomainId)}/token`, authUrl);

export async function requestToken(
  transport: Transport,
  profile: Profile,
  form: Readonly<Record<string, string>>,
  now: number,
): Promise<Granted> {
  const url = tokenUrl(profile);
  const answer = await transport.send({
    method: 'POST',
    url,
    headers: { 'content-type': 'application/x-www-form-urlencoded', accept: 'application/json' },
    body: new URLSearchParams(form).toString(),
  });
  if (answer.status !== 200) throw refusedToken(problemFault(answer), answer.status, profile);
  const {
    access_token: accessToken,
    expires_in: seconds,
    refresh_token: refreshToken,
  } = membersOf(readJson(answer.body));
  if (typeof accessToken !== 'string') throw strangeAnswer(answer, url.host);
  const livesMs = typeof seconds === 'number' ? seconds * 1000 : 0;
  return {
    accessToken,
    expiresAt: now + Math.max(0, livesMs - graceMs),
    ...(typeof refreshToken === 'string' ? { refreshToken } : {}),
  };
}

/** The endpoint says 400 as well as 401 to credentials that it does not take. */
function refusedToken(fault: CommandFault, status: number, profile: Profile): CommandFault {
  if (![400, 401, 404].includes(status)) return fault;
  return new CommandFault('notSignedIn', `${profile.clientId} was not let in: ${fault.message}`, {
    more: [...fault.more, 'Sign in again: switchyard login'],
    facts: fault.facts,
  });
}

export const clientCredentials = (
  profile: Profile,
  clientSecret: string,
): Record<string, string> => ({
  grant_type: 'client_credentials',
  client_id: profile.clientId,
  client_secret: clientSecret,
});

export const refreshing = (profile: Profile, refreshToken: string): Record<string, string> => ({
  grant_type: 'refresh_token',
  client_id: profile.clientId,
  refresh_token: refreshToken,
});
