// The client credentials grant (RFC 6749, 4.4): an application gets a token for itself.
import { errors } from 'oidc-provider';
import { deviceScope } from '../devices/device-tokens.ts';
import { presentedDevice } from '../devices/presented.ts';
import { machineScope, userScope } from '../scopes.ts';
import type { Grant } from './index.ts';

/** What the tokens are good for; names the API inside the library and stands in no token. */
const apiResource = 'urn:switchyard:api';
const machineTokenSeconds = 3600;

export const clientCredentials: Grant = {
  grantType: 'client_credentials',
  securityFlows: ['ClientCredentials'],
  parameters: ['scope'],
  handle:
    ({ provider, realm, findApplication, limitClient, deviceTokens }) =>
    async (ctx) => {
      const { client, params } = ctx.oidc;
      await limitClient(ctx, client.clientId);
      const application = await findApplication(client.clientId);
      if (application === undefined) throw new errors.InvalidClientAuth('disabled meanwhile');
      const device = presentedDevice(ctx.req);
      const scope =
        device === undefined ? machineScope(params.scope) : userScope(params.scope ?? deviceScope);
      if ('unknown' in scope) throw new errors.InvalidScope('unknown scope', scope.unknown);
      if (device !== undefined) {
        const { granted = '' } = scope;
        ctx.body = await deviceTokens.issue(realm, application, device, granted);
        return;
      }

      const token = new provider.ClientCredentials({
        client,
        scope: scope.granted,
        expiresIn: application.accessTokenSeconds ?? machineTokenSeconds,
        resourceServer: new provider.ResourceServer(apiResource, {
          audience: client.clientId,
          scope: scope.granted ?? '',
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'ES256', kid: realm.signing.ES256.keyId } },
        }),
      });
      ctx.oidc.entity('ClientCredentials', token);
      const accessToken = await token.save();
      ctx.body = {
        access_token: accessToken,
        expires_in: token.expiration,
        token_type: token.tokenType,
        scope: token.scope ?? '',
      };
    },
};
