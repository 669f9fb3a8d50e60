// The refresh token grant (RFC 6749, 6): issues new tokens for the newest refresh token of a
// family.
import { errors } from 'oidc-provider';
import { requestDevice } from '../../devices/authenticated-device.ts';
import { readRefreshToken } from '../../tokens/refresh-token.ts';
import { isUserSessionValid } from '../../tokens/user-session-validity.ts';
import { requireDeviceLocation } from './device-location-check.ts';
import type { Grant } from './grant.ts';

/** RFC 6749, 6: the requested scope must not exceed the granted one. */
function narrowScope(granted: string, requested: string | undefined): string {
  const requestedScopes = [...new Set(requested?.split(' ').filter((scope) => scope !== ''))];
  if (requestedScopes.length === 0) return granted;
  const grantedScopes = new Set(granted.split(' '));
  const notGranted = requestedScopes.filter((scope) => !grantedScopes.has(scope));
  if (notGranted.length > 0)
    throw new errors.InvalidScope('the scope exceeds the granted one', notGranted.join(' '));
  return requestedScopes.join(' ');
}

/**
 * A refresh may omit the ID token (OpenID Connect Core, 12.2). Its RSA signature is a third of the
 * cost of a refresh, so it is issued only on request.
 */
const asksForIdToken = (requested: string | undefined) =>
  requested?.split(' ').includes('openid') === true;

export const refreshTokenGrant: Grant = {
  grantType: 'refresh_token',
  securityFlows: ['AuthorizationCode', 'Password'],
  parameters: ['refresh_token', 'scope'],
  handle:
    ({ realm, clock, findApplication, findUser, userTokens, limitClient }) =>
    async (ctx) => {
      const { client, params } = ctx.oidc;
      await limitClient(ctx, client.clientId);
      const value = params['refresh_token'];
      if (typeof value !== 'string') {
        throw new errors.InvalidRequest('missing required parameter: refresh_token');
      }
      const application = await findApplication(client.clientId);
      if (application === undefined)
        throw new errors.InvalidClientAuth('the application was disabled during the request');
      const token = readRefreshToken(realm, value);
      if (token === undefined) throw new errors.InvalidGrant('not a refresh token of this realm');
      if (token.azp !== client.clientId)
        throw new errors.InvalidGrant('the refresh token belongs to another client');
      if (token.exp * 1000 <= clock.now())
        throw new errors.InvalidGrant('the refresh token has expired');
      // Checked in both directions: a certificate must not redeem an unbound token either.
      const device = requestDevice(ctx.req);
      if (token.cnf?.['x5t#S256'] !== device?.thumbprint) {
        throw new errors.InvalidGrant(
          'the refresh token is bound to another certificate, or to none',
        );
      }
      const scope = narrowScope(token.scope, params.scope);
      const user = await findUser(token.sub);
      if (!isUserSessionValid(user, token.iat * 1000))
        throw new errors.InvalidGrant('the user is disabled, or its sessions have ended');
      if (device !== undefined) {
        // The new tokens would book sales to the former location of the device.
        if (!(await userTokens.isStillAtLocation(user, token.sid, device.location))) {
          throw new errors.InvalidGrant('the device has moved since the sign-in');
        }
        requireDeviceLocation(device, realm, { user, application });
      }
      const response = await userTokens.refresh(
        realm,
        { application, user },
        {
          familyId: token.sid,
          tokenId: token.jti,
          scope,
          withIdToken: asksForIdToken(params.scope),
        },
      );
      if (response === undefined)
        throw new errors.InvalidGrant('the refresh token is not the newest of its family');
      ctx.body = response;
    },
};
