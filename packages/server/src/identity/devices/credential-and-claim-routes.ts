// The routes below /oauth2-mtls/v1 except the token endpoint: credentials of a device, and terminal claims.
import { MerchantCredentials, TerminalClaim, TerminalClaimRequest } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type CertificateReader, route } from '../../http/index.ts';
import type { DeviceCredentials } from './device-credentials.ts';
import type { ClaimTerminal } from './terminal-claims.ts';
import type { CertificateHolder } from './types.ts';

export const devicePathPrefix = '/oauth2-mtls/v1/';
/** Served by the device listener and nowhere else. */
export const deviceTokenPath = `${devicePathPrefix}token`;

export type CredentialRouteDeps = {
  readonly certificates: CertificateReader<CertificateHolder>;
  readonly claimTerminal: ClaimTerminal;
  readonly credentials: DeviceCredentials;
};

export function registerCredentialRoutes(app: FastifyInstance, deps: CredentialRouteDeps): void {
  registerLookup(app, deps);
  registerClaim(app, deps);
}

function registerLookup(
  app: FastifyInstance,
  { certificates, credentials }: CredentialRouteDeps,
): void {
  route(app, {
    method: 'GET',
    url: `${devicePathPrefix}merchants-credentials`,
    operationId: 'listMerchantsCredentials',
    summary: 'Look up the credentials of a device',
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
    response: { 200: Type.Array(MerchantCredentials) },
    errors: [
      'certificate_mismatch',
      'device_not_claimed',
      'device_without_store',
      'device_not_active',
    ],
    async handler(request, reply) {
      reply.header('cache-control', 'no-store');
      return credentials.issue(await certificates.demand(request), request.query.serial_number);
    },
  });
}

function registerClaim(
  app: FastifyInstance,
  { certificates, claimTerminal }: CredentialRouteDeps,
): void {
  route(app, {
    method: 'POST',
    url: `${devicePathPrefix}claims`,
    operationId: 'sendTerminalClaim',
    summary: 'Ask to be claimed, as a terminal',
    description:
      'A terminal with the certificate of its maker names the user domain of its organisation, and becomes Claimed there at once where that organisation has a device with its serial number and no other organisation has proved the same. A terminal with a certificate of the platform sends the claim code that it shows; it becomes Claimed when a person of the organisation enters that code. Unclaimed is the answer for each reason.',
    tags: ['Device security'],
    permission: 'certificate',
    takesUnclaimed: true,
    body: TerminalClaimRequest,
    response: { 200: TerminalClaim },
    errors: [],
    faultOutcome: 'NotProcessed',
    handler: async (request) => ({
      claimStatus: await claimTerminal(certificates.demandProven(request), request.body),
    }),
  });
}
