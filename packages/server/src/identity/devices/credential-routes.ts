// The addresses below /oauth2-mtls/v1: who the device may act for, and its tokens.
import {
  errorCodes,
  MerchantCredentialsList,
  Refusal,
  TerminalClaim,
  TerminalClaimRequest,
} from '@switchyard/contract';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { Type } from 'typebox';
import { type CertificateReader, route } from '../../http/index.ts';
import { basicChallenge } from '../client-authentication.ts';
import { deviceTokenEndpoint } from '../endpoint-descriptions.ts';
import { type Listener, passOn } from '../pass-on.ts';
import { innerPaths } from '../provider-configuration.ts';
import type { RateLimits } from '../rate-limits.ts';
import { answerError, refuseWith } from '../routes.ts';
import type { Realm } from '../types.ts';
import type { ClaimTerminal } from './claims.ts';
import type { DeviceCredentials } from './credentials.ts';
import type { FindPresented } from './place.ts';
import { presentDevice } from './presented.ts';
import type { CertificateHolder } from './types.ts';

export const devicePrefix = '/oauth2-mtls/v1/';
/** Served by the device listener and nowhere else. */
export const deviceTokenPath = `${devicePrefix}token`;

export type CredentialRouteDeps = {
  readonly certificates: CertificateReader<CertificateHolder>;
  readonly claimTerminal: ClaimTerminal;
  readonly credentials: DeviceCredentials;
  readonly findPresented: FindPresented;
  readonly limits: RateLimits;
  findRealm(userDomainId: string): Promise<Realm | undefined>;
  listenerOf(realm: Realm): Listener;
};

export async function registerCredentialRoutes(
  app: FastifyInstance,
  deps: CredentialRouteDeps,
): Promise<void> {
  registerLookup(app, deps);
  registerClaim(app, deps);
  await registerToken(app, deps);
}

function registerLookup(
  app: FastifyInstance,
  { certificates, credentials }: CredentialRouteDeps,
): void {
  route(app, {
    method: 'GET',
    url: `${devicePrefix}merchants-credentials`,
    operationId: 'listMerchantCredentials',
    summary: 'List the merchant credentials of a device',
    description:
      'For a device, known by its client certificate: the merchant in whose store it stands, and credentials for the device token endpoint. Each call makes a secret that is good with this certificate alone; the one before it lives on for ten minutes, older ones are dead. An array, though a device has one merchant.',
    tags: ['Device security'],
    permission: 'certificate',
    query: Type.Object(
      {
        serial_number: Type.Optional(
          Type.String({
            pattern: '^[A-Za-z0-9._-]{1,100}$',
            description:
              'The serial number of the terminal, alone or as MAKE_MODEL-serial. Devices of the family tetra must send it; where it is sent it must be that of the certificate.',
          }),
        ),
      },
      { additionalProperties: false },
    ),
    response: { 200: MerchantCredentialsList },
    errors: [
      'certificate_mismatch',
      'device_not_claimed',
      'device_without_store',
      'device_not_active',
    ],
    async handler(request, reply) {
      reply.header('cache-control', 'no-store');
      return credentials.of(
        await certificates.requireCertificate(request),
        request.query.serial_number,
      );
    },
  });
}

function registerClaim(
  app: FastifyInstance,
  { certificates, claimTerminal }: CredentialRouteDeps,
): void {
  route(app, {
    method: 'POST',
    url: `${devicePrefix}claims`,
    operationId: 'createTerminalClaim',
    summary: 'Create a claim as a terminal',
    description:
      'A terminal with the certificate of its maker names the user domain of its organisation, and becomes Claimed there at once where that organisation has a device with its serial number and no other organisation has proved the same. A terminal with a certificate of the platform sends the claim code that it shows; it becomes Claimed when a person of the organisation enters that code. Unclaimed is the answer for each reason.',
    tags: ['Device security'],
    permission: 'certificate',
    acceptsUnclaimedTerminal: true,
    body: TerminalClaimRequest,
    response: { 200: TerminalClaim },
    errors: [],
    faultOutcome: 'NotProcessed',
    handler: async (request) => ({
      claimStatus: await claimTerminal(
        certificates.requirePresentedCertificate(request),
        request.body,
      ),
    }),
  });
}

/** The certificate is the client's, as RFC 8705, 2, has it; a device that may not act is no fault of it. */
function errorOf({ code }: Refusal): { status: number; error: string } | undefined {
  const { status } = errorCodes[code];
  if (status === 401) return { status, error: 'invalid_client' };
  if (status === 403) return { status: 400, error: 'unauthorized_client' };
  return undefined;
}

async function registerToken(app: FastifyInstance, deps: CredentialRouteDeps): Promise<void> {
  const { certificates, credentials, findPresented, findRealm, listenerOf, limits } = deps;

  /** Of the organisation that the certificate belongs to: no path names it. */
  async function realmOf(request: FastifyRequest): Promise<Realm> {
    const device = await findPresented(await certificates.requireCertificate(request));
    const realm = await findRealm(await credentials.userDomainOf(device.organizationId));
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
      if (known.status === 401) {
        limits.failed(request.ip);
        // RFC 6749, 5.2; without a good certificate the issuer is not known.
        if (request.headers.authorization !== undefined) {
          reply.header('WWW-Authenticate', basicChallenge(deviceTokenPath));
        }
      }
      return refuseWith(reply, known.status, known.error, error.detail);
    });
    const config = { describedRoutes: { ...deviceTokenEndpoint, url: deviceTokenPath } };
    scope.all(deviceTokenPath, { config }, handle);
    done();
  });
}
