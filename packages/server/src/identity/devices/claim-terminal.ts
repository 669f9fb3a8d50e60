// Handles the claim request of a terminal: by the certificate of its manufacturer, or by the code
// on its screen.
import type { X509Certificate } from 'node:crypto';
import { type ClaimStatus, type TerminalClaimRequest, throwProblem } from '@switchyard/contract';
import type { CertificateVerifier } from '../../http/index.ts';
import type { Clock } from '../../platform/index.ts';
import type { ChangeCounter } from '../infrastructure/change-counter.ts';
import { type DeviceAuthorities, findIssuer } from './certificate-authority.ts';
import type { DeviceCertificateStore } from './device-certificate-sql.ts';
import { type DeviceCertificates, terminalNameOf } from './device-certificates.ts';
import type { CertificateHolder, TerminalClaims } from './types.ts';
import { isClientCertificate, thumbprintOf } from './validate-certificate.ts';

type Deps = {
  readonly validator: CertificateVerifier<CertificateHolder>;
  readonly authorities: DeviceAuthorities;
  readonly certificates: Pick<DeviceCertificates, 'registerPresented'>;
  readonly store: Pick<DeviceCertificateStore, 'find' | 'findOrganization'>;
  readonly terminalClaims: TerminalClaims;
  readonly clock: Clock;
  readonly changeCounter: ChangeCounter;
};

export type ClaimTerminal = (
  certificate: X509Certificate,
  request: TerminalClaimRequest,
) => Promise<ClaimStatus>;

/** @param certificate - the terminal has proved possession of its private key */
export function createClaimTerminal(deps: Deps): ClaimTerminal {
  const { validator, authorities, certificates, store, terminalClaims, clock, changeCounter } =
    deps;

  async function requireManufacturerCertificate(certificate: X509Certificate): Promise<void> {
    const issuer = findIssuer(certificate, await authorities.operatorAuthorities());
    if (issuer === undefined || !isClientCertificate(certificate)) {
      throwProblem(
        'certificate_invalid',
        'The platform does not accept the client certificate: its issuer or its device is unknown, or it is not valid yet.',
      );
    }
    const now = clock.now();
    const endsAt = Math.min(certificate.validToDate.getTime(), issuer.validToDate.getTime());
    if (now >= endsAt) throwProblem('certificate_expired', 'The client certificate has expired.');
    if (now < certificate.validFromDate.getTime()) {
      throwProblem(
        'certificate_invalid',
        'The platform does not accept the client certificate: its issuer or its device is unknown, or it is not valid yet.',
      );
    }
  }

  /** `Unclaimed` for each reason, so that the response says nothing about other organisations. */
  async function claimByCertificate(
    certificate: X509Certificate,
    userDomain: string,
  ): Promise<ClaimStatus> {
    const organizationId = await store.findOrganization(userDomain);
    if (organizationId === undefined) return 'Unclaimed';
    const registered = await store.find(organizationId, thumbprintOf(certificate));
    if (registered?.revokedAt !== undefined) return 'Unclaimed';
    const name = terminalNameOf(certificate);
    const terminal = await terminalClaims.claimByCertificate(organizationId, name);
    if (terminal?.isClaimed !== true) return 'Unclaimed';
    await certificates.registerPresented(certificate, organizationId, terminal);
    changeCounter.bump();
    return 'Claimed';
  }

  return async (certificate, { userDomain, claimCode }) => {
    if (userDomain === undefined && claimCode === undefined) {
      throwProblem('field_required', 'Send userDomain or claimCode.', {
        errors: [{ pointer: '/userDomain', code: 'field_required', detail: 'or claimCode' }],
      });
    }
    const validation = await validator.verify(certificate);
    const isFromOperatorAuthority =
      findIssuer(certificate, await authorities.operatorAuthorities()) !== undefined;
    if (isFromOperatorAuthority && userDomain !== undefined) {
      await requireManufacturerCertificate(certificate);
      return claimByCertificate(certificate, userDomain);
    }
    if (!('holder' in validation)) {
      return validation.status === 'invalid'
        ? throwProblem(
            'certificate_invalid',
            'The platform does not accept the client certificate: its issuer or its device is unknown, or it is not valid yet.',
          )
        : throwProblem(
            `certificate_${validation.status}`,
            `The client certificate is ${validation.status}.`,
          );
    }
    const { organizationId, physicalDeviceId, claimMethod } = validation.holder;
    if (claimMethod !== undefined) return 'Claimed';
    if (claimCode !== undefined) {
      await terminalClaims.storeClaimCode(organizationId, physicalDeviceId, claimCode);
    }
    return 'Unclaimed';
  };
}
