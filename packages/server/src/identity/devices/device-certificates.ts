// Device certificates: signed on request, made known where the operator signs, listed, revoked.
import { X509Certificate } from 'node:crypto';
import {
  type DeviceCertificate,
  type DeviceCertificateInput,
  type DeviceCertificateSummary,
  defined,
  refuse,
} from '@switchyard/contract';
import type { FoundPage } from '../../http/index.ts';
import { type Clock, type Ids, isoTime, type Log } from '../../platform/index.ts';
import type { Asked, RecordChange } from '../infrastructure/audit-port.ts';
import type { Revision } from '../infrastructure/change-counter.ts';
import { type Authorities, issuerOf } from './certificate-authority.ts';
import type { DeviceStore } from './device-certificate-sql.ts';
import { isSerialOf } from './terminal-serial-number.ts';
import type {
  FindHardware,
  Hardware,
  RevocationReason,
  Scope,
  StoredCertificate,
} from './types.ts';
import { isForDevices, thumbprintOf } from './validate-certificate.ts';

const dayMs = 86_400_000;
/** The clocks of devices differ. */
const backdatedMs = 300_000;
/** A key that is renewed, one that was lost, and some patience; not a factory of certificates. */
export const activeCertificatesMax = 10;
/** RFC 5280 wants 1 to 20 bytes, positive: the highest bit stays free. */
const certificateSerialBytes = 16;
const serialNumberForm = /^serialNumber=(.+)$/m;
const commonNameForm = /^CN=(.+)$/m;
const pageKeyForm = /^(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

type Deps = {
  readonly authorities: Authorities;
  readonly store: DeviceStore;
  readonly findHardware: FindHardware;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly revision: Revision;
  readonly certificateDays: number;
  readonly recordChange: RecordChange;
};

export type DeviceCertificates = ReturnType<typeof createDeviceCertificates>;
export { pageKeyForm as certificateKeyForm };

function summaryOf(found: StoredCertificate, now: number): DeviceCertificateSummary {
  const { revokedAt, revocationReason } = found;
  const status = revokedAt !== undefined ? 'Revoked' : now >= found.notAfter ? 'Expired' : 'Active';
  return {
    thumbprint: found.thumbprint,
    physicalDeviceId: found.physicalDeviceId,
    serialNumber: found.serialNumber,
    certificateSerial: found.certificateSerial,
    status,
    notBefore: isoTime(found.notBefore),
    notAfter: isoTime(found.notAfter),
    createdAt: isoTime(found.createdAt),
    ...defined({
      revokedAt: revokedAt === undefined ? undefined : isoTime(revokedAt),
      revocationReason,
    }),
  };
}

function refuseCertificate(detail: string): never {
  return refuse('field_invalid', `The certificate ${detail}.`, {
    errors: [{ pointer: '/certificate', code: 'field_invalid', detail }],
  });
}

function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    return refuseCertificate('cannot be read');
  }
}

/** The terminal serial number as the subject has it, or else the common name. */
export function namedBy({ subject }: X509Certificate): string {
  return serialNumberForm.exec(subject)?.[1] ?? commonNameForm.exec(subject)?.[1] ?? '';
}

export function createDeviceCertificates(deps: Deps) {
  const { authorities, store, findHardware, clock, ids, log, revision, certificateDays } = deps;
  const { recordChange } = deps;

  function newCertificateSerial(): string {
    const bytes = Buffer.from(ids.secret(certificateSerialBytes), 'base64url');
    // Neither negative nor with an empty first byte.
    bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
    return bytes.toString('hex');
  }

  async function sign(pem: string, { serialNumber, tsn }: Hardware): Promise<X509Certificate> {
    const { readCertificateRequest } = await import('./certificate-request.ts');
    const publicKey = await readCertificateRequest(pem);
    const { issueDeviceCertificate } = await import('./issue-certificate.ts');
    const now = clock.now();
    const signed = await issueDeviceCertificate(await authorities.signer(), {
      publicKey,
      subject: { serialNumber, tsn },
      certificateSerial: newCertificateSerial(),
      validity: {
        notBefore: new Date(now - backdatedMs),
        notAfter: new Date(now + certificateDays * dayMs),
      },
    });
    return new X509Certificate(signed);
  }

  /** Made elsewhere: the operator's authority vouches for it, and it must speak for this terminal. */
  async function recognise(pem: string, hardware: Hardware): Promise<X509Certificate> {
    const certificate = parseCertificate(pem);
    if (issuerOf(certificate, await authorities.operators()) === undefined) {
      refuseCertificate('is of no device authority of the operator');
    }
    if (!isForDevices(certificate)) refuseCertificate('is not for TLS clients');
    if (clock.now() >= certificate.validToDate.getTime()) refuseCertificate('has expired');
    if (!isSerialOf(namedBy(certificate), hardware)) {
      refuseCertificate('names another serial number than the device');
    }
    return certificate;
  }

  /** What was issued or revoked, without the certificate itself. */
  const changeOf = (
    done: string,
    { merchantId }: Pick<Hardware, 'merchantId'>,
    { organizationId, thumbprint }: StoredCertificate,
    asked: Asked | undefined,
  ) => ({
    organizationId,
    action: `deviceCertificate.${done}`,
    entity: {
      type: 'deviceCertificate',
      id: thumbprint,
      ...defined({ merchantId }),
    },
    asked,
  });

  async function insert(
    certificate: X509Certificate,
    organizationId: string,
    hardware: Pick<Hardware, 'physicalDeviceId' | 'serialNumber' | 'merchantId'>,
    asked: Asked | undefined,
  ): Promise<StoredCertificate | undefined> {
    const { physicalDeviceId, serialNumber } = hardware;
    const made: StoredCertificate = {
      organizationId,
      thumbprint: thumbprintOf(certificate),
      physicalDeviceId,
      serialNumber,
      certificateSerial: certificate.serialNumber.toLowerCase(),
      certificate: certificate.toString(),
      notBefore: certificate.validFromDate.getTime(),
      notAfter: certificate.validToDate.getTime(),
      createdAt: clock.now(),
    };
    const after = summaryOf(made, clock.now());
    const change = { ...changeOf('issued', hardware, made, asked), after };
    if (!(await store.insert(made, (trx) => recordChange(trx, change)))) return undefined;
    log.info({ organizationId, physicalDeviceId, thumbprint: made.thumbprint }, 'certified');
    return made;
  }

  async function keep(
    certificate: X509Certificate,
    organizationId: string,
    hardware: Hardware,
    asked: Asked | undefined,
  ): Promise<StoredCertificate> {
    return (
      (await insert(certificate, organizationId, hardware, asked)) ??
      refuse('already_exists', 'The certificate is known already.', {
        errors: [{ pointer: '/certificate', code: 'already_exists', detail: 'is known already' }],
      })
    );
  }

  async function viewOf(found: StoredCertificate): Promise<DeviceCertificate> {
    const issuer = issuerOf(new X509Certificate(found.certificate), await authorities.trusted());
    return {
      ...summaryOf(found, clock.now()),
      certificateChain: [found.certificate, issuer?.toString() ?? ''].join(''),
    };
  }

  async function find(scope: Scope, physicalDeviceId: string, thumbprint: string) {
    const hardware = await findHardware(scope, physicalDeviceId);
    const found = await store.find(scope.organizationId, thumbprint);
    return found?.physicalDeviceId === hardware.physicalDeviceId
      ? { found, hardware }
      : refuse('resource_not_found', 'The device has no certificate with this thumbprint.');
  }

  return {
    async enrol(
      scope: Scope,
      physicalDeviceId: string,
      input: DeviceCertificateInput,
      asked?: Asked,
    ): Promise<DeviceCertificate> {
      const { certificateRequest, certificate } = input;
      const hardware = await findHardware(scope, physicalDeviceId);
      const { organizationId } = scope;
      if ((certificateRequest === undefined) === (certificate === undefined)) {
        refuse('field_required', 'Send a certificateRequest or a certificate, one of the two.', {
          errors: [
            {
              pointer: '/certificateRequest',
              code: 'field_required',
              detail: 'or certificate, exactly one of the two',
            },
          ],
        });
      }
      const active = await store.countActive(organizationId, physicalDeviceId, clock.now());
      if (active >= activeCertificatesMax) {
        refuse('certificate_limit_reached', `The device has ${active} certificates that are good.`);
      }
      const good =
        certificateRequest === undefined
          ? await recognise(String(certificate), hardware)
          : await sign(certificateRequest, hardware);
      return viewOf(await keep(good, organizationId, hardware, asked));
    },

    /** The terminal has shown it to the platform; nothing where the organisation knows it already. */
    async makeKnown(
      certificate: X509Certificate,
      organizationId: string,
      terminal: Pick<Hardware, 'physicalDeviceId' | 'serialNumber'>,
    ): Promise<void> {
      await insert(certificate, organizationId, terminal, undefined);
    },

    async list(
      scope: Scope,
      physicalDeviceId: string,
      page: { readonly limit: number; readonly after?: string },
    ): Promise<FoundPage<DeviceCertificateSummary>> {
      const hardware = await findHardware(scope, physicalDeviceId);
      const [, at, thumbprint = ''] = pageKeyForm.exec(page.after ?? '') ?? [];
      const found = await store.list(
        scope.organizationId,
        hardware.physicalDeviceId,
        page.limit + 1,
        at === undefined ? undefined : { createdAt: Number(at), thumbprint },
      );
      const items = found.slice(0, page.limit);
      const last = found.length > page.limit ? items.at(-1) : undefined;
      const now = clock.now();
      return {
        items: items.map((one) => summaryOf(one, now)),
        next: last && `${last.createdAt}.${last.thumbprint}`,
      };
    },

    get: async (scope: Scope, physicalDeviceId: string, thumbprint: string) =>
      viewOf((await find(scope, physicalDeviceId, thumbprint)).found),

    /** From the next connection on it opens nothing, a resumed one included; here at once. */
    async revoke(
      scope: Scope,
      physicalDeviceId: string,
      thumbprint: string,
      reason: RevocationReason,
      asked?: Asked,
    ): Promise<DeviceCertificate> {
      const { organizationId } = scope;
      const { found, hardware } = await find(scope, physicalDeviceId, thumbprint);
      const now = clock.now();
      await store.revoke(organizationId, thumbprint, reason, now, (trx, revoked) =>
        recordChange(trx, {
          ...changeOf('revoked', hardware, found, asked),
          before: summaryOf(found, now),
          after: summaryOf(revoked, now),
        }),
      );
      revision.bump();
      log.info({ organizationId, physicalDeviceId, thumbprint, reason }, 'certificate revoked');
      return viewOf((await find(scope, physicalDeviceId, thumbprint)).found);
    },
  };
}
