// The routes of device certificates, below the physical devices of provisioning.
import {
  DeviceCertificate,
  DeviceCertificateInput,
  DeviceCertificateList,
  DeviceCertificateRevocation,
  findable,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { type Caller, pageQuery, pageResponse, readPageRequest, route } from '../../http/index.ts';
import { cursorPattern, type DeviceCertificates } from './device-certificates.ts';
import type { DeviceScope } from './types.ts';

const url = '/provisioning/v2/physical-devices/:physicalDeviceId/certificates';
const listName = 'listDeviceCertificates';
/** A PKCS#10 request with an RSA key of 4,096 bits has 1.7 KB as PEM. */
const bodyLimitBytes = 16_384;
/** RFC 5967. */
const pkcs10 = 'application/pkcs10';
const pemStart = '-----BEGIN';

const writers = ['dev.write', 'prov.write'] as const;
const readers = ['dev.read', 'prov.read'] as const;
const device = Type.String({ maxLength: 64, description: 'The physical device.' });
const thumbprint = Type.String({
  maxLength: 64,
  pattern: findable,
  description: 'The thumbprint of a certificate.',
});
const deviceParams = Type.Object({ physicalDeviceId: device });
const certificateParams = Type.Object({ physicalDeviceId: device, thumbprint });
const common = { tags: ['Device security'] } as const;

/** Restricts callers of a merchant to the devices of that merchant. */
function callerScope({ organizationId, entityType, entityId, merchantId }: Caller): DeviceScope {
  const ownMerchantId = entityType === 'merchant' ? entityId : merchantId;
  return ownMerchantId === undefined
    ? { organizationId }
    : { organizationId, merchantId: ownMerchantId };
}

/** Converts DER or PEM, as `openssl req` writes them, to the JSON form. */
function readPkcs10(body: Buffer): { certificateRequest: string } {
  const text = body.toString('latin1');
  if (text.trimStart().startsWith(pemStart)) return { certificateRequest: text };
  const lines = body.toString('base64').replace(/.{64}(?=.)/g, '$&\n');
  return {
    certificateRequest: `-----BEGIN CERTIFICATE REQUEST-----\n${lines}\n-----END CERTIFICATE REQUEST-----\n`,
  };
}

export function registerCertificateRoutes(
  app: FastifyInstance,
  certificates: DeviceCertificates,
): void {
  app.addContentTypeParser(pkcs10, { parseAs: 'buffer' }, (_request, body, done) => {
    done(null, readPkcs10(body as Buffer));
  });
  registerEnrolment(app, certificates);
  registerReads(app, certificates);
  registerRevocation(app, certificates);
}

function registerEnrolment(app: FastifyInstance, { enrol }: DeviceCertificates): void {
  route(app, {
    ...common,
    method: 'POST',
    url,
    operationId: 'createDeviceCertificate',
    summary: 'Create a device certificate',
    description:
      'Signs a PKCS#10 request (application/pkcs10 as DER or PEM, or as PEM within JSON) after the check of its signature. The key is on P-256 or P-384, or RSA of 2048 to 4096 bits. The platform sets the subject: serialNumber is the serial number of the terminal, CN its full name. A certificate of the operator’s own authority is registered in the same way.',
    permission: writers,
    params: deviceParams,
    consumes: [pkcs10],
    bodyLimitBytes,
    body: DeviceCertificateInput,
    response: { 201: DeviceCertificate },
    errors: [
      'device_not_found',
      'certificate_request_invalid',
      'certificate_limit_reached',
      'already_exists',
    ],
    faultOutcome: 'NotProcessed',
    async handler(request, reply) {
      const { caller, params, body } = request;
      const made = await enrol(callerScope(caller), params.physicalDeviceId, body, request);
      const { physicalDeviceId, thumbprint: name } = made;
      reply.code(201);
      reply.header('location', `${url.replace(':physicalDeviceId', physicalDeviceId)}/${name}`);
      return made;
    },
  });
}

function registerReads(app: FastifyInstance, { get, list }: DeviceCertificates): void {
  route(app, {
    ...common,
    method: 'GET',
    url,
    operationId: listName,
    summary: 'List the certificates of a device',
    description: 'Sorted by creation time, including revoked and expired certificates.',
    permission: readers,
    params: deviceParams,
    query: Type.Object(pageQuery, { additionalProperties: false }),
    response: { 200: DeviceCertificateList },
    errors: ['device_not_found', 'cursor_invalid'],
    priority: 'list',
    async handler({ caller, params, query }) {
      const { physicalDeviceId } = params;
      const filters = { ...query, physicalDeviceId };
      const page = readPageRequest(filters, listName, cursorPattern);
      return pageResponse(
        await list(callerScope(caller), physicalDeviceId, page),
        filters,
        listName,
      );
    },
  });
  route(app, {
    ...common,
    method: 'GET',
    url: `${url}/:thumbprint`,
    operationId: 'getDeviceCertificate',
    summary: 'Get a device certificate',
    permission: readers,
    params: certificateParams,
    response: { 200: DeviceCertificate },
    errors: ['device_not_found', 'resource_not_found'],
    handler: async ({ caller, params }) =>
      get(callerScope(caller), params.physicalDeviceId, params.thumbprint),
  });
}

function registerRevocation(app: FastifyInstance, { revoke }: DeviceCertificates): void {
  route(app, {
    ...common,
    method: 'POST',
    url: `${url}/:thumbprint/revoke`,
    operationId: 'revokeDeviceCertificate',
    summary: 'Revoke a device certificate',
    description:
      'The server refuses new connections with the certificate, resumed sessions included, and tokens that are bound to it. Revoking it again changes nothing.',
    permission: writers,
    params: certificateParams,
    body: DeviceCertificateRevocation,
    bodyOptional: true,
    response: { 200: DeviceCertificate },
    errors: ['device_not_found', 'resource_not_found'],
    faultOutcome: 'NotProcessed',
    async handler(request) {
      const { caller, params, body } = request;
      const { reason = 'Unspecified' } = body;
      const { physicalDeviceId, thumbprint: name } = params;
      return revoke(callerScope(caller), physicalDeviceId, name, reason, request);
    },
  });
}
