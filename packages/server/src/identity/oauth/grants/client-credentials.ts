// The client credentials grant (RFC 6749, 4.4): an application or a device gets a token for itself.
import { errors } from 'oidc-provider';
import { requestDevice } from '../../devices/authenticated-device.ts';
import { defaultDeviceScope } from '../../devices/device-tokens.ts';
import { signAccessToken } from '../../tokens/realm-jwt.ts';
import { machineAccessTokenClaims } from '../../tokens/token-claims.ts';
import { grantMachineScope, grantUserScope } from '../scopes.ts';
import type { Grant } from './grant.ts';

const machineTokenSeconds = 3600;

export const clientCredentialsGrant: Grant = {
  grantType: 'client_credentials',
  securityFlows: ['ClientCredentials'],
  parameters: ['scope'],
  handle:
    ({ realm, clock, ids, findApplication, limitClient, deviceTokens }) =>
    async (ctx) => {
      const { client, params } = ctx.oidc;
      await limitClient(ctx, client.clientId);
      const application = await findApplication(client.clientId);
      if (application === undefined)
        throw new errors.InvalidClientAuth('the application was disabled during the request');
      const device = requestDevice(ctx.req);
      const scope =
        device === undefined
          ? grantMachineScope(params.scope)
          : grantUserScope(params.scope ?? defaultDeviceScope);
      if ('unknown' in scope) throw new errors.InvalidScope('unknown scope', scope.unknown);
      if (device !== undefined) {
        const { granted = '' } = scope;
        ctx.body = await deviceTokens.issue(realm, application, device, granted);
        return;
      }

      const issuedAt = Math.floor(clock.now() / 1000);
      const seconds = application.accessTokenSeconds ?? machineTokenSeconds;
      const claims = machineAccessTokenClaims({
        realm,
        application,
        scope: scope.granted,
        tokenId: ids.uuidV4(),
        issuedAt,
        expiresAt: issuedAt + seconds,
      });
      ctx.body = {
        access_token: await signAccessToken(realm, application, 'ES256', claims),
        expires_in: seconds,
        token_type: 'Bearer',
        scope: scope.granted ?? '',
      };
    },
};
