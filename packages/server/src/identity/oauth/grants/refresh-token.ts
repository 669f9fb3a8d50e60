// The refresh token grant (RFC 6749, 6): new tokens for the last refresh token of a family.
import { errors } from 'oidc-provider';
import { requestDevice } from '../../devices/authenticated-device.ts';
import { readRefreshToken } from '../../tokens/refresh-token.ts';
import { isUserSessionValid } from '../../tokens/user-session-validity.ts';
import { requireDeviceLocation } from './device-location-check.ts';
import type { Grant } from './grant.ts';

/** RFC 6749, 6: as much as was granted or less, never more. */
function narrowScope(granted: string, requested: string | undefined): string {
  const requestedScopes = [...new Set(requested?.split(' ').filter((scope) => scope !== ''))];
  if (requestedScopes.length === 0) return granted;
  const grantedScopes = new Set(granted.split(' '));
  const notGranted = requestedScopes.filter((scope) => !grantedScopes.has(scope));
  if (notGranted.length > 0)
    throw new errors.InvalidScope('wider than granted', notGranted.join(' '));
  return requestedScopes.join(' ');
}

/**
 * An ID token tells of the sign-in, and a refresh is none: it may be left out (OpenID Connect Core,
 * 12.2). Its RSA signature would be a third of what a refresh costs, so it comes where it is asked for.
 */
const asksForIdToken = (requested: string | undefined) =>
  requested?.split(' ').includes('openid') === true;

export const refreshToken: Grant = {
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
      if (application === undefined) throw new errors.InvalidClientAuth('disabled meanwhile');
      const token = readRefreshToken(realm, value);
      if (token === undefined) throw new errors.InvalidGrant('not a refresh token of this realm');
      if (token.azp !== client.clientId) throw new errors.InvalidGrant('another client’s token');
      if (token.exp * 1000 <= clock.now()) throw new errors.InvalidGrant('expired');
      // Both ways: a device's certificate is no secret of the client that an unbound token belongs to.
      const device = requestDevice(ctx.req);
      if (token.cnf?.['x5t#S256'] !== device?.thumbprint) {
        throw new errors.InvalidGrant('bound to another certificate, or to none');
      }
      const scope = narrowScope(token.scope, params.scope);
      const user = await findUser(token.sub);
      if (!isUserSessionValid(user, token.iat * 1000))
        throw new errors.InvalidGrant('the user is not in');
      if (device !== undefined) {
        // The next tokens would sell for the place of the sign-in, and the device stands elsewhere.
        if (!(await userTokens.isStillAtLocation(user, token.sid, device.location))) {
          throw new errors.InvalidGrant('the device was moved since the sign-in');
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
      if (response === undefined) throw new errors.InvalidGrant('not the last of its family');
      ctx.body = response;
    },
};
