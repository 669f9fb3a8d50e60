// Issues the credentials of a device: its merchant, user domain, client id and client secret.
import { type MerchantCredentials, ProblemError, throwProblem } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import type { ValidCertificate } from '../../http/index.ts';
import { lruCacheOptions } from '../../platform/index.ts';
import type { Application } from '../clients/application-record.ts';
import type { Applications } from '../clients/applications.ts';
import { deviceClientId, mayUseApplication } from '../clients/device-client-rules.ts';
import type { AuthenticatedDevice } from './authenticated-device.ts';
import type { DeviceCertificateStore } from './device-certificate-sql.ts';
import type { DeviceSecrets } from './device-secrets.ts';
import type { FindAuthenticatedDevice } from './find-authenticated-device.ts';
import { isTerminalName } from './match-terminal-name.ts';
import type { CertificateHolder, FindMerchantName } from './types.ts';

/** Terminals of this family share certificate names, so they must send their serial number. */
const familyRequiringSerialNumber = 'tetra';
/** Cached without expiry: the name of a user domain never changes. */
const maxCachedDomains = 10_000;

type Deps = {
  readonly applications: Pick<Applications, 'find' | 'createPublic'>;
  readonly store: Pick<DeviceCertificateStore, 'findUserDomain'>;
  readonly secrets: DeviceSecrets;
  readonly findAuthenticatedDevice: FindAuthenticatedDevice;
  readonly findMerchantName: FindMerchantName;
};

export type DeviceCredentials = ReturnType<typeof createDeviceCredentials>;

function requireSerialNumber(device: AuthenticatedDevice, serialNumber: string | undefined): void {
  if (serialNumber !== undefined) {
    if (isTerminalName(serialNumber, device)) return;
    throwProblem(
      'certificate_mismatch',
      'serial_number differs from that in the client certificate.',
    );
  }
  if (device.family !== familyRequiringSerialNumber) return;
  const detail = `devices of the family ${familyRequiringSerialNumber} must send it`;
  throwProblem('field_required', `serial_number is missing: ${detail}.`, {
    errors: [{ pointer: '?serial_number', code: 'field_required', detail }],
  });
}

export function createDeviceCredentials(deps: Deps) {
  const { applications, store, secrets, findAuthenticatedDevice, findMerchantName } = deps;
  const userDomains = new LRUCache<string, string>(lruCacheOptions(maxCachedDomains));

  async function findUserDomain(organizationId: string): Promise<string> {
    const userDomainId =
      userDomains.get(organizationId) ?? (await store.findUserDomain(organizationId));
    if (userDomainId === undefined) {
      return throwProblem(
        'device_not_active',
        'The organisation of the device has no user domain.',
      );
    }
    userDomains.set(organizationId, userDomainId);
    return userDomainId;
  }

  async function createApplication(organizationId: string, merchantId: string, name: string) {
    try {
      await applications.createPublic({
        organizationId,
        clientId: deviceClientId(merchantId),
        name: `Devices of ${name}`.slice(0, 100),
        entityType: 'merchant',
        entityId: merchantId,
        roles: ['Device'],
        securityFlows: ['ClientCredentials', 'Password'],
      });
    } catch (error) {
      // Another device of the merchant created it at the same time.
      if (!(error instanceof ProblemError) || error.code !== 'already_exists') throw error;
    }
  }

  async function findOrCreateApplication(
    device: AuthenticatedDevice,
    merchantName: string,
  ): Promise<Application> {
    const { organizationId, location } = device;
    const { merchantId } = location;
    const clientId = deviceClientId(merchantId);
    let application = await applications.find(organizationId, clientId);
    if (application === undefined) {
      await createApplication(organizationId, merchantId, merchantName);
      application = await applications.find(organizationId, clientId);
    }
    if (application !== undefined && mayUseApplication(application, device)) return application;
    return throwProblem(
      'device_not_active',
      'The OAuth client for the devices of this merchant is disabled or was changed. Enable it in the portal, under Applications.',
    );
  }

  return {
    userDomainOf: findUserDomain,

    /** Returns one entry: the merchant of the store of the device. */
    async issue(
      certificate: ValidCertificate<CertificateHolder>,
      serialNumber: string | undefined,
    ): Promise<MerchantCredentials[]> {
      const device = await findAuthenticatedDevice(certificate);
      requireSerialNumber(device, serialNumber);
      const { organizationId, location } = device;
      const userDomain = await findUserDomain(organizationId);
      const merchantName = await findMerchantName(organizationId, location.merchantId);
      const { clientId } = await findOrCreateApplication(device, merchantName);
      const clientSecret = await secrets.issue(device, clientId);
      return [{ merchantName, userDomain, clientId, clientSecret }];
    },
  };
}
