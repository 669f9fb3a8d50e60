// The password grant (RFC 6749, 4.3), for applications with this flow; also on the device listener.
import { defined } from '@switchyard/contract';
import { errors, type KoaContextWithOIDC } from 'oidc-provider';
import type { NotSignedIn, SignedIn } from '../../accounts/types.ts';
import type { Application } from '../../clients/application-record.ts';
import { type AuthenticatedDevice, requestDevice } from '../../devices/authenticated-device.ts';
import { requestOrigin } from '../provider/provider-dispatch.ts';
import { grantUserScope } from '../scopes.ts';
import { requireDeviceLocation, signInDeviceOf } from './device-location-check.ts';
import type { Grant } from './grant.ts';

type Parameters = { username?: string; password?: string; totp?: string; scope?: string };

/** The same error for all user faults, so that the response reveals nothing about the user. */
const invalidGrant = (detail: string) => new errors.InvalidGrant(detail);

function requireParameter(params: Parameters, name: 'username' | 'password'): string {
  const value = params[name];
  if (value === undefined || value === '') {
    throw new errors.InvalidRequest(`missing required parameter(s) '${name}'`);
  }
  return value;
}

/**
 * The limit applies to the address, whichever user it names, so it reveals nothing about the user.
 */
function throwTooManyAttempts(ctx: KoaContextWithOIDC, seconds: number): never {
  ctx.set('Retry-After', String(seconds));
  throw Object.assign(
    new errors.CustomOIDCProviderError('temporarily_unavailable', 'too many requests'),
    { status: 429, statusCode: 429 },
  );
}

function requireSignedIn(ctx: KoaContextWithOIDC, answer: SignedIn | NotSignedIn): SignedIn {
  if (answer.ok) {
    // Remaining steps need a login page, and an unverified address gets no token.
    if (answer.needs !== undefined) throw invalidGrant(answer.needs);
    if (!answer.user.emailVerified) throw invalidGrant('the address is not verified');
    return answer;
  }
  if (answer.retryAfterSeconds !== undefined) throwTooManyAttempts(ctx, answer.retryAfterSeconds);
  throw invalidGrant('invalid user credentials');
}

/** A public application does not authenticate, so it identifies no source. */
function authenticatedSource(
  { clientId, secretHash }: Application,
  device: AuthenticatedDevice | undefined,
): string | undefined {
  if (device !== undefined) return `device ${device.thumbprint}`;
  return secretHash === undefined ? undefined : `application ${clientId}`;
}

export const passwordGrant: Grant = {
  grantType: 'password',
  securityFlows: ['Password'],
  parameters: ['username', 'password', 'totp', 'scope'],
  handle:
    ({ realm, findApplication, limitClient, authenticate, userTokens }) =>
    async (ctx) => {
      const { client } = ctx.oidc;
      const params = ctx.oidc.params as Parameters;
      await limitClient(ctx, client.clientId);
      const application = await findApplication(client.clientId);
      if (application === undefined)
        throw new errors.InvalidClientAuth('the application was disabled during the request');
      const username = requireParameter(params, 'username');
      const givenPassword = requireParameter(params, 'password');
      const scope = grantUserScope(params.scope);
      if ('unknown' in scope) throw new errors.InvalidScope('unknown scope', scope.unknown);

      const device = requestDevice(ctx.req);
      const answer = await authenticate({
        organizationId: realm.organizationId,
        username,
        password: givenPassword,
        otp: params.totp,
        origin: {
          ...requestOrigin(ctx.req),
          clientId: client.clientId,
          ...defined({ source: authenticatedSource(application, device) }),
        },
        kind: device === undefined ? 'password-grant' : 'device',
      });
      const { user, methods, provenAt } = requireSignedIn(ctx, answer);
      if (device !== undefined) requireDeviceLocation(device, realm, { user, application });
      const deviceMembers =
        device === undefined
          ? {}
          : { device: signInDeviceOf(device), certificate: device.thumbprint };
      const grantedSignIn = {
        kind: 'Password',
        application,
        user,
        scope: scope.granted,
        methods,
      } as const;
      const signIn = { ...grantedSignIn, authenticatedAt: provenAt, ...deviceMembers };
      const response = await userTokens.issue(realm, signIn, provenAt);
      if (response === undefined)
        throw invalidGrant('the sessions of the user ended during the request');
      ctx.body = response;
    },
};
