// The token endpoint of devices on the listener with mutual TLS: /oauth2-mtls/v1/token.
import { errorCodes, Refusal } from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { presentDevice } from '../../devices/authenticated-device.ts';
import { deviceTokenPath } from '../../devices/credential-and-claim-routes.ts';
import type { Devices } from '../../devices/index.ts';
import type { RateLimits } from '../../infrastructure/rate-limits.ts';
import type { Realm } from '../../realms-and-keys/realm.ts';
import { innerPaths } from '../provider/provider-configuration.ts';
import { type Listener, passOn } from '../provider/provider-dispatch.ts';
import { deviceTokenEndpoint } from './endpoint-descriptions.ts';
import { answerError, refuseWith } from './oauth-routes.ts';

type DeviceTokenRouteDeps = {
  readonly devices: Pick<Devices, 'reader' | 'findPresented' | 'userDomainOf'>;
  readonly limits: RateLimits;
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  listenerOf(realm: Realm): Listener;
};

/** The certificate is the client's, as RFC 8705, 2, has it; a device that may not act is no fault of it. */
function errorOf({ code }: Refusal): { status: number; error: string } | undefined {
  const { status } = errorCodes[code];
  if (status === 401) return { status, error: 'invalid_client' };
  if (status === 403) return { status: 400, error: 'unauthorized_client' };
  return undefined;
}

export async function registerDeviceTokenRoute(
  app: FastifyInstance,
  deps: DeviceTokenRouteDeps,
): Promise<void> {
  const { devices, findRealm, listenerOf, limits } = deps;

  /** Of the organisation that the certificate belongs to: no path names it. */
  async function realmOf(request: FastifyRequest): Promise<Realm> {
    const device = await devices.findPresented(await devices.reader.demand(request));
    const realm = await findRealm(await devices.userDomainOf(device.organizationId));
    if (realm === undefined) {
      throw new Refusal('device_not_active', 'The user domain of the device is not in use.');
    }
    presentDevice(request.raw, device);
    return realm;
  }

  async function handle(request: FastifyRequest, reply: FastifyReply): Promise<FastifyReply> {
    if (request.method !== 'POST') {
      reply.header('Allow', 'POST');
      return refuseWith(reply, 405, 'invalid_request', 'this method is not allowed here');
    }
    const wait = limits.address(request.ip);
    if (wait !== undefined) {
      reply.header('Retry-After', String(wait));
      return refuseWith(reply, 429, 'temporarily_unavailable', 'too many requests');
    }
    await passOn(listenerOf(await realmOf(request)), innerPaths.token, request, reply);
    if (reply.raw.statusCode === 401) limits.failed(request.ip);
    return reply;
  }

  await app.register((scope, _options, done) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, _payload, parsed) => parsed(null));
    scope.setErrorHandler(async (error, request, reply) => {
      const known = error instanceof Refusal ? errorOf(error) : undefined;
      if (known === undefined || !(error instanceof Refusal)) {
        return answerError(error, request, reply);
      }
      if (known.status === 401) limits.failed(request.ip);
      return refuseWith(reply, known.status, known.error, error.detail);
    });
    const config = { described: { ...deviceTokenEndpoint, url: deviceTokenPath } };
    scope.all(deviceTokenPath, { config }, handle);
    done();
  });
}
