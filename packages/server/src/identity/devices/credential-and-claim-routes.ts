// The routes below /oauth2-mtls/v1 except the token endpoint: credentials of a device, and terminal claims.
import { MerchantCredentialsList, TerminalClaim, TerminalClaimRequest } from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type CertificateReader, route } from '../../http/index.ts';
import type { ClaimTerminal } from './claim-terminal.ts';
import type { DeviceCredentials } from './device-credentials.ts';
import type { CertificateHolder } from './types.ts';

export const devicePathPrefix = '/oauth2-mtls/v1/';
/** Only the device listener serves this path. */
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
    operationId: 'listMerchantCredentials',
    summary: 'List the merchant credentials of a device',
    description:
      'For a device, identified by its client certificate: its merchant, and credentials for the device token endpoint. Each call creates a secret that works only with this certificate; the previous secret works for ten more minutes, older ones stop at once. The response is an array, although a device has one merchant.',
    tags: ['Device security'],
    permission: 'certificate',
    query: Type.Object(
      {
        serial_number: Type.Optional(
          Type.String({
            pattern: '^[A-Za-z0-9._-]{1,100}$',
            description:
              'The serial number of the terminal, alone or as MAKE_MODEL-serial. Devices of the family tetra must send it. It must match the certificate.',
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
      return credentials.issue(
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
    url: `${devicePathPrefix}claims`,
    operationId: 'createTerminalClaim',
    summary: 'Create a claim as a terminal',
    description:
      'A terminal with a certificate of its manufacturer names the user domain of its organisation. It becomes Claimed at once if that organisation has a device with its serial number, and no other organisation has proved the same. A terminal with a certificate of the platform sends the claim code on its screen. It becomes Claimed when a user of the organisation enters that code. In all other cases the response is Unclaimed.',
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
