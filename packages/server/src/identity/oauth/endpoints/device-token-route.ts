// The token endpoint of devices on the listener with mutual TLS: /oauth2-mtls/v1/token.

import { errorCodes, ProblemError } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { setRequestDevice } from '../../devices/authenticated-device.ts';
import { deviceTokenPath } from '../../devices/credential-and-claim-routes.ts';
import type { Devices } from '../../devices/index.ts';
import type { OAuthEndpointLimits } from '../../infrastructure/oauth-endpoint-limits.ts';
import type { Realm } from '../../realms-and-keys/realm-types.ts';
import { providerPaths } from '../provider/provider-configuration.ts';
import { dispatchToProvider, type ProviderListener } from '../provider/provider-dispatch.ts';
import { basicChallenge } from './client-authentication.ts';
import { deviceTokenEndpoint } from './endpoint-descriptions.ts';
import { handleOauthError, sendOauthError } from './oauth-routes.ts';

type DeviceTokenRouteDeps = {
  readonly devices: Pick<Devices, 'reader' | 'findAuthenticatedDevice' | 'userDomainOf'>;
  readonly limits: OAuthEndpointLimits;
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  findListener(realm: Realm): ProviderListener;
};

/**
 * By RFC 8705, 2, the certificate authenticates the client; a device without permission is a
 * different error.
 */
function oauthErrorOf({ code }: ProblemError): { status: number; error: string } | undefined {
  const { status } = errorCodes[code];
  if (status === 401) return { status, error: 'invalid_client' };
  if (status === 403) return { status: 400, error: 'unauthorized_client' };
  return undefined;
}

export async function registerDeviceTokenRoute(
  app: FastifyInstance,
  deps: DeviceTokenRouteDeps,
): Promise<void> {
  const { devices, findRealm, findListener, limits } = deps;

  /** The realm of the organisation that owns the certificate; the path names no realm. */
  async function authenticateRequest(request: FastifyRequest): Promise<Realm> {
    const device = await devices.findAuthenticatedDevice(
      await devices.reader.requireCertificate(request),
    );
    const realm = await findRealm(await devices.userDomainOf(device.organizationId));
    if (realm === undefined) {
      throw new ProblemError('device_not_active', 'The user domain of the device is disabled.');
    }
    setRequestDevice(request.raw, device);
    return realm;
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (request.method !== 'POST') {
      reply.header('Allow', 'POST');
      return sendOauthError(
        reply,
        405,
        'invalid_request',
        'the method is not allowed for this path',
      );
    }
    const wait = limits.checkAddress(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      return sendOauthError(reply, 429, 'temporarily_unavailable', 'too many requests');
    }
    await dispatchToProvider(
      findListener(await authenticateRequest(request)),
      providerPaths.token,
      request,
      reply,
    );
    if (reply.raw.statusCode === 401) limits.countFailure(request.ip);
    return reply;
  }

  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    scope.setErrorHandler(async (error, request, reply) => {
      const oauthError = error instanceof ProblemError ? oauthErrorOf(error) : undefined;
      if (oauthError === undefined || !(error instanceof ProblemError)) {
        return handleOauthError(error, request, reply);
      }
      if (oauthError.status === 401) {
        limits.countFailure(request.ip);
        // RFC 6749, 5.2; without a good certificate the issuer is not known.
        if (request.headers.authorization !== undefined) {
          reply.header('WWW-Authenticate', basicChallenge(deviceTokenPath));
        }
      }
      return sendOauthError(reply, oauthError.status, oauthError.error, error.detail);
    });
    const config = { describedRoutes: { ...deviceTokenEndpoint, url: deviceTokenPath } };
    scope.all(deviceTokenPath, { config }, handle);
    done();
  });
}
