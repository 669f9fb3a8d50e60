// Issues, registers, lists and revokes device certificates.
import { X509Certificate } from 'node:crypto';
import {
  type DeviceCertificate,
  type DeviceCertificateInput,
  type DeviceCertificateSummary,
  defined,
  throwProblem,
} from '@switchyard/contract';
import type { FoundPage } from '../../http/index.ts';
import { type Clock, dayMs, type Ids, isoTime, type Log } from '../../platform/index.ts';
import type { AuditContext, RecordChange } from '../infrastructure/audit-port.ts';
import type { ChangeCounter } from '../infrastructure/change-counter.ts';
import { type DeviceAuthorities, findIssuer } from './certificate-authority.ts';
import type { DeviceCertificateStore } from './device-certificate-sql.ts';
import { hasSerialNumber } from './match-terminal-name.ts';
import type {
  DeviceScope,
  FindTerminal,
  RevocationReason,
  StoredCertificate,
  Terminal,
} from './types.ts';
import { isClientCertificate, thumbprintOf } from './validate-certificate.ts';

/** Tolerance for the clocks of devices. */
const backdatingMs = 300_000;
/** Enough for renewals and lost keys. */
export const maxActiveCertificates = 10;
/** RFC 5280: 1 to 20 bytes, positive, so the highest bit is 0. */
const certificateSerialBytes = 16;
const serialNumberPattern = /^serialNumber=(.+)$/m;
const commonNamePattern = /^CN=(.+)$/m;
export const cursorPattern = /^(\d{1,15})\.([A-Za-z0-9_-]{43})$/;

type Deps = {
  readonly authorities: DeviceAuthorities;
  readonly store: DeviceCertificateStore;
  readonly findTerminal: FindTerminal;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly changeCounter: ChangeCounter;
  readonly certificateDays: number;
  readonly recordChange: RecordChange;
};

export type DeviceCertificates = ReturnType<typeof createDeviceCertificates>;

function summaryOf(certificate: StoredCertificate, now: number): DeviceCertificateSummary {
  const { revokedAt, revocationReason } = certificate;
  const status =
    revokedAt !== undefined ? 'Revoked' : now >= certificate.notAfter ? 'Expired' : 'Active';
  return {
    thumbprint: certificate.thumbprint,
    physicalDeviceId: certificate.physicalDeviceId,
    serialNumber: certificate.serialNumber,
    certificateSerial: certificate.certificateSerial,
    status,
    notBefore: isoTime(certificate.notBefore),
    notAfter: isoTime(certificate.notAfter),
    createdAt: isoTime(certificate.createdAt),
    ...defined({
      revokedAt: revokedAt === undefined ? undefined : isoTime(revokedAt),
      revocationReason,
    }),
  };
}

function throwInvalidCertificate(detail: string): never {
  return throwProblem('field_invalid', `The certificate ${detail}.`, {
    errors: [{ pointer: '/certificate', code: 'field_invalid', detail }],
  });
}

function parseCertificate(pem: string): X509Certificate {
  try {
    return new X509Certificate(pem);
  } catch {
    return throwInvalidCertificate('cannot be read');
  }
}

/** The serialNumber of the subject, or else its common name. */
export function terminalNameOf({ subject }: X509Certificate): string {
  return serialNumberPattern.exec(subject)?.[1] ?? commonNamePattern.exec(subject)?.[1] ?? '';
}

export function createDeviceCertificates(deps: Deps) {
  const { authorities, store, findTerminal, clock, ids, log, changeCounter, certificateDays } =
    deps;
  const { recordChange } = deps;

  function newCertificateSerial(): string {
    const bytes = Buffer.from(ids.secret(certificateSerialBytes), 'base64url');
    // Positive, and without a leading zero byte.
    bytes[0] = ((bytes[0] ?? 0) & 0x3f) | 0x40;
    return bytes.toString('hex');
  }

  async function sign(pem: string, { serialNumber, tsn }: Terminal): Promise<X509Certificate> {
    const { readCertificateRequest } = await import('./certificate-request.ts');
    const publicKey = await readCertificateRequest(pem);
    const { issueDeviceCertificate } = await import('./issue-certificate.ts');
    const now = clock.now();
    const signed = await issueDeviceCertificate(await authorities.findSigner(), {
      publicKey,
      subject: { serialNumber, tsn },
      certificateSerial: newCertificateSerial(),
      validity: {
        notBefore: new Date(now - backdatingMs),
        notAfter: new Date(now + certificateDays * dayMs),
      },
    });
    return new X509Certificate(signed);
  }

  /** Checks a certificate of the operator's authority: it must name this terminal. */
  async function checkOperatorCertificate(
    pem: string,
    terminal: Terminal,
  ): Promise<X509Certificate> {
    const certificate = parseCertificate(pem);
    if (findIssuer(certificate, await authorities.operatorAuthorities()) === undefined) {
      throwInvalidCertificate('was not issued by a device authority of the operator');
    }
    if (!isClientCertificate(certificate)) throwInvalidCertificate('is not for TLS clients');
    if (clock.now() >= certificate.validToDate.getTime()) throwInvalidCertificate('has expired');
    if (!hasSerialNumber(terminalNameOf(certificate), terminal)) {
      throwInvalidCertificate('names another serial number than that of the device');
    }
    return certificate;
  }

  /** The audit record, without the certificate itself. */
  const auditChangeOf = (
    action: string,
    { merchantId }: Pick<Terminal, 'merchantId'>,
    { organizationId, thumbprint }: StoredCertificate,
    context: AuditContext | undefined,
  ) => ({
    organizationId,
    action: `deviceCertificate.${action}`,
    entity: {
      type: 'deviceCertificate',
      id: thumbprint,
      ...defined({ merchantId }),
    },
    request: context,
  });

  async function insert(
    certificate: X509Certificate,
    organizationId: string,
    terminal: Pick<Terminal, 'physicalDeviceId' | 'serialNumber' | 'merchantId'>,
    context: AuditContext | undefined,
  ): Promise<StoredCertificate | undefined> {
    const { physicalDeviceId, serialNumber } = terminal;
    const stored: StoredCertificate = {
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
    const after = summaryOf(stored, clock.now());
    const change = { ...auditChangeOf('issued', terminal, stored, context), after };
    if (!(await store.insert(stored, (trx) => recordChange(trx, change)))) return undefined;
    log.info(
      { organizationId, physicalDeviceId, thumbprint: stored.thumbprint },
      'device certificate issued',
    );
    return stored;
  }

  async function storeNew(
    certificate: X509Certificate,
    organizationId: string,
    terminal: Terminal,
    context: AuditContext | undefined,
  ): Promise<StoredCertificate> {
    return (
      (await insert(certificate, organizationId, terminal, context)) ??
      throwProblem('already_exists', 'The certificate is registered already.', {
        errors: [
          { pointer: '/certificate', code: 'already_exists', detail: 'is registered already' },
        ],
      })
    );
  }

  async function viewOf(certificate: StoredCertificate): Promise<DeviceCertificate> {
    const issuer = findIssuer(
      new X509Certificate(certificate.certificate),
      await authorities.trustedAuthorities(),
    );
    return {
      ...summaryOf(certificate, clock.now()),
      certificateChain: [certificate.certificate, issuer?.toString() ?? ''].join(''),
    };
  }

  async function find(scope: DeviceScope, physicalDeviceId: string, thumbprint: string) {
    const terminal = await findTerminal(scope, physicalDeviceId);
    const certificate = await store.find(scope.organizationId, thumbprint);
    return certificate?.physicalDeviceId === terminal.physicalDeviceId
      ? { found: certificate, hardware: terminal }
      : throwProblem('resource_not_found', 'The device has no certificate with this thumbprint.');
  }

  return {
    async enrol(
      scope: DeviceScope,
      physicalDeviceId: string,
      input: DeviceCertificateInput,
      context?: AuditContext,
    ): Promise<DeviceCertificate> {
      const { certificateRequest, certificate } = input;
      const terminal = await findTerminal(scope, physicalDeviceId);
      const { organizationId } = scope;
      if ((certificateRequest === undefined) === (certificate === undefined)) {
        throwProblem('field_required', 'Send either certificateRequest or certificate.', {
          errors: [
            {
              pointer: '/certificateRequest',
              code: 'field_required',
              detail: 'or certificate; send exactly one of the two',
            },
          ],
        });
      }
      const active = await store.countActive(organizationId, physicalDeviceId, clock.now());
      if (active >= maxActiveCertificates) {
        throwProblem(
          'certificate_limit_reached',
          `The device has ${active} active certificates, the maximum. Revoke one first.`,
        );
      }
      const signed =
        certificateRequest === undefined
          ? await checkOperatorCertificate(String(certificate), terminal)
          : await sign(certificateRequest, terminal);
      return viewOf(await storeNew(signed, organizationId, terminal, context));
    },

    /**
     * Registers the certificate that a terminal has presented; does nothing if it is registered
     * already.
     */
    async registerPresented(
      certificate: X509Certificate,
      organizationId: string,
      terminal: Pick<Terminal, 'physicalDeviceId' | 'serialNumber'>,
    ): Promise<void> {
      await insert(certificate, organizationId, terminal, undefined);
    },

    async list(
      scope: DeviceScope,
      physicalDeviceId: string,
      page: { readonly limit: number; readonly after?: string },
    ): Promise<FoundPage<DeviceCertificateSummary>> {
      const terminal = await findTerminal(scope, physicalDeviceId);
      const [, createdAt, thumbprint = ''] = cursorPattern.exec(page.after ?? '') ?? [];
      const rows = await store.list(
        scope.organizationId,
        terminal.physicalDeviceId,
        page.limit + 1,
        createdAt === undefined ? undefined : { createdAt: Number(createdAt), thumbprint },
      );
      const items = rows.slice(0, page.limit);
      const last = rows.length > page.limit ? items.at(-1) : undefined;
      const now = clock.now();
      return {
        items: items.map((certificate) => summaryOf(certificate, now)),
        next: last && `${last.createdAt}.${last.thumbprint}`,
      };
    },

    get: async (scope: DeviceScope, physicalDeviceId: string, thumbprint: string) =>
      viewOf((await find(scope, physicalDeviceId, thumbprint)).found),

    /**
     * New connections with the certificate are refused, resumed sessions included; this process
     * refuses it at once.
     */
    async revoke(
      scope: DeviceScope,
      physicalDeviceId: string,
      thumbprint: string,
      reason: RevocationReason,
      context?: AuditContext,
    ): Promise<DeviceCertificate> {
      const { organizationId } = scope;
      const { found, hardware: terminal } = await find(scope, physicalDeviceId, thumbprint);
      const now = clock.now();
      await store.revoke(organizationId, thumbprint, reason, now, (trx, revoked) =>
        recordChange(trx, {
          ...auditChangeOf('revoked', terminal, found, context),
          before: summaryOf(found, now),
          after: summaryOf(revoked, now),
        }),
      );
      changeCounter.bump();
      log.info(
        { organizationId, physicalDeviceId, thumbprint, reason },
        'device certificate revoked',
      );
      return viewOf((await find(scope, physicalDeviceId, thumbprint)).found);
    },
  };
}
