// A terminal asks to be claimed: by the certificate of its maker, or by sending the code that it shows.
import type { X509Certificate } from 'node:crypto';
import { type ClaimStatus, refuse, type TerminalClaimRequest } from '@switchyard/contract';
import type { CertificateJudge } from '../../http/index.ts';
import type { Clock } from '../../platform/index.ts';
import type { Revision } from '../infrastructure/change-counter.ts';
import { type Authorities, issuerOf } from './certificate-authority.ts';
import type { DeviceStore } from './device-certificate-sql.ts';
import { type DeviceCertificates, namedBy } from './device-certificates.ts';
import type { CertificateHolder, TerminalClaims } from './types.ts';
import { isForDevices, thumbprintOf } from './validate-certificate.ts';

type Deps = {
  readonly judge: CertificateJudge<CertificateHolder>;
  readonly authorities: Authorities;
  readonly certificates: Pick<DeviceCertificates, 'makeKnown'>;
  readonly store: Pick<DeviceStore, 'find' | 'organizationOf'>;
  readonly terminalClaims: TerminalClaims;
  readonly clock: Clock;
  readonly revision: Revision;
};

export type ClaimTerminal = (
  certificate: X509Certificate,
  request: TerminalClaimRequest,
) => Promise<ClaimStatus>;

/** @param certificate - whose private key the terminal has shown to hold */
export function createClaimTerminal(deps: Deps): ClaimTerminal {
  const { judge, authorities, certificates, store, terminalClaims, clock, revision } = deps;

  async function demandMaker(certificate: X509Certificate): Promise<void> {
    const issuer = issuerOf(certificate, await authorities.operators());
    if (issuer === undefined || !isForDevices(certificate)) {
      refuse('certificate_invalid', 'The client certificate is not accepted.');
    }
    const now = clock.now();
    const endsAt = Math.min(certificate.validToDate.getTime(), issuer.validToDate.getTime());
    if (now >= endsAt) refuse('certificate_expired', 'The client certificate has expired.');
    if (now < certificate.validFromDate.getTime()) {
      refuse('certificate_invalid', 'The client certificate is not accepted.');
    }
  }

  /** `Unclaimed` for each reason, so that the response says nothing about other organisations. */
  async function claimByCertificate(
    certificate: X509Certificate,
    userDomain: string,
  ): Promise<ClaimStatus> {
    const organizationId = await store.organizationOf(userDomain);
    if (organizationId === undefined) return 'Unclaimed';
    const known = await store.find(organizationId, thumbprintOf(certificate));
    if (known?.revokedAt !== undefined) return 'Unclaimed';
    const name = namedBy(certificate);
    const terminal = await terminalClaims.claimByCertificate(organizationId, name);
    if (terminal?.isClaimed !== true) return 'Unclaimed';
    await certificates.makeKnown(certificate, organizationId, terminal);
    revision.bump();
    return 'Claimed';
  }

  return async (certificate, { userDomain, claimCode }) => {
    if (userDomain === undefined && claimCode === undefined) {
      refuse('field_required', 'Send userDomain or claimCode.', {
        errors: [{ pointer: '/userDomain', code: 'field_required', detail: 'or claimCode' }],
      });
    }
    const standing = await judge.judge(certificate);
    const isOfMaker = issuerOf(certificate, await authorities.operators()) !== undefined;
    if (isOfMaker && userDomain !== undefined) {
      await demandMaker(certificate);
      return claimByCertificate(certificate, userDomain);
    }
    if (!('holder' in standing)) {
      return standing.verdict === 'invalid'
        ? refuse('certificate_invalid', 'The client certificate is not accepted.')
        : refuse(
            `certificate_${standing.verdict}`,
            `The client certificate is ${standing.verdict}.`,
          );
    }
    const { organizationId, physicalDeviceId, claimMethod } = standing.holder;
    if (claimMethod !== undefined) return 'Claimed';
    if (claimCode !== undefined) {
      await terminalClaims.rememberCode(organizationId, physicalDeviceId, claimCode);
    }
    return 'Unclaimed';
  };
}
