// The authorization code grant (RFC 6749, 4.1.3): redeems a code for tokens, once.
import { hash, timingSafeEqual } from 'node:crypto';
import { type AuthorizationCode, errors } from 'oidc-provider';
import type { AuthenticationMethod } from '../../accounts/types.ts';
import type { Application } from '../../clients/application-record.ts';
import { requestDevice } from '../../devices/authenticated-device.ts';
import { loginTsToMs } from '../../sessions/sessions.ts';
import type { TokenResponse } from '../../tokens/issue-user-tokens.ts';
import { isUserSessionValid } from '../../tokens/user-session-validity.ts';
import { hashBearerValue } from '../provider/storage-adapter.ts';
import type { Grant, GrantDeps } from './grant.ts';

/** RFC 7636, 4.1. */
const verifierPattern = /^[A-Za-z0-9\-._~]{43,128}$/;

/** RFC 7636, 4.6. A verifier without a challenge is refused too: it would protect nothing. */
function requireMatchingVerifier(code: AuthorizationCode, verifier: string | undefined): void {
  const { codeChallenge: challenge } = code;
  if (challenge === undefined && verifier === undefined) return;
  if (challenge === undefined) throw new errors.InvalidGrant('no code challenge was sent');
  if (verifier === undefined || !verifierPattern.test(verifier)) {
    throw new errors.InvalidGrant('the code verifier is missing or malformed');
  }
  const computed = hash('sha256', verifier, 'buffer');
  const expected = Buffer.from(challenge, 'base64url');
  if (computed.length !== expected.length || !timingSafeEqual(computed, expected)) {
    throw new errors.InvalidGrant('the code verifier does not match the code challenge');
  }
}

/** RFC 6749, 4.1.3. */
function requireMatchingRequest(
  code: AuthorizationCode,
  { clientId }: Application,
  { redirectUri, verifier }: Omit<CodeRedemption, 'code'>,
): void {
  if (code.clientId !== clientId)
    throw new errors.InvalidGrant('the code belongs to another client');
  if (code.redirectUri !== redirectUri)
    throw new errors.InvalidGrant('redirect_uri differs from that of the authorization request');
  requireMatchingVerifier(code, verifier);
}

type RedeemPorts = Pick<GrantDeps, 'provider' | 'realm' | 'findUser' | 'userTokens'>;
export type CodeRedemption = {
  readonly code: string;
  readonly redirectUri: string;
  readonly verifier: string | undefined;
};

/** Redeems a code of this application; throws `InvalidGrant` for any other. */
export async function redeemCode(
  { provider, realm, findUser, userTokens }: RedeemPorts,
  application: Application,
  { code: value, redirectUri, verifier }: CodeRedemption,
): Promise<TokenResponse> {
  const code = await provider.AuthorizationCode.find(value, { ignoreExpiration: true });
  if (code === undefined) throw new errors.InvalidGrant('unknown or expired code');
  try {
    requireMatchingRequest(code, application, { redirectUri, verifier });
  } catch (error) {
    // A code with wrong parameters may be stolen: it cannot be tried again.
    await code.consume();
    throw error;
  }
  const authenticatedAt = loginTsToMs(code.authTime ?? 0);
  const user = await findUser(code.accountId ?? '');
  if (!isUserSessionValid(user, authenticatedAt))
    throw new errors.InvalidGrant('the user is disabled, or its sessions have ended');
  const response = await userTokens.issueForCode(
    realm,
    {
      kind: 'AuthorizationCode',
      application,
      user,
      scope: code.scope ?? '',
      methods: (code.amr ?? []) as AuthenticationMethod[],
      authenticatedAt,
      familyId: code.grantId,
      sessionId: code.sessionUid,
      nonce: code.nonce,
    },
    hashBearerValue(value),
  );
  if (response === 'used') throw new errors.InvalidGrant('the code was redeemed before');
  if (response === 'over') throw new errors.InvalidGrant('the session has ended');
  return response;
}

export const authorizationCodeGrant: Grant = {
  grantType: 'authorization_code',
  securityFlows: ['AuthorizationCode'],
  parameters: ['code', 'redirect_uri', 'code_verifier'],
  handle: (deps) => async (ctx) => {
    const { client, params } = ctx.oidc;
    await deps.limitClient(ctx, client.clientId);
    // On the device listener a certificate replaces the secret, for sign-ins at the device only.
    if (requestDevice(ctx.req) !== undefined) {
      throw new errors.UnauthorizedClient('devices cannot redeem authorization codes');
    }
    const { code, redirect_uri: redirectUri, code_verifier: verifier } = params;
    if (code === undefined) throw new errors.InvalidRequest('missing required parameter: code');
    if (redirectUri === undefined) {
      throw new errors.InvalidRequest('missing required parameter: redirect_uri');
    }
    const application = await deps.findApplication(client.clientId);
    if (application === undefined)
      throw new errors.InvalidClientAuth('the application was disabled during the request');
    ctx.body = await redeemCode(deps, application, {
      code: String(code),
      redirectUri: String(redirectUri),
      verifier: verifier as string | undefined,
    });
  },
};
