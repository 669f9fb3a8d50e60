// Tells a device for which merchant it may act, and gives it credentials that no other device can use.
import { type MerchantCredentials, Refusal, refuse } from '@switchyard/contract';
import { LRUCache } from 'lru-cache';
import type { GoodCertificate } from '../../http/index.ts';
import { atMost } from '../../platform/index.ts';
import type { Application } from '../clients/application.ts';
import type { Applications } from '../clients/applications.ts';
import { deviceClientId, mayAct } from '../clients/device-client.ts';
import type { PresentedDevice } from './authenticated-device.ts';
import type { DeviceStore } from './device-certificate-sql.ts';
import type { DeviceSecrets } from './device-secrets.ts';
import type { FindPresented } from './find-authenticated-device.ts';
import { isNameOf } from './terminal-serial-number.ts';
import type { CertificateHolder, NameMerchant } from './types.ts';

/** Their terminals share certificates' names, so that they say once more who they are. */
const familyThatNamesItself = 'tetra';
/** The name of a user domain never changes. */
const cachedDomainsMax = 10_000;

type Deps = {
  readonly applications: Pick<Applications, 'find' | 'createPublic'>;
  readonly store: Pick<DeviceStore, 'userDomainOf'>;
  readonly secrets: DeviceSecrets;
  readonly findPresented: FindPresented;
  readonly nameMerchant: NameMerchant;
};

export type DeviceCredentials = ReturnType<typeof createDeviceCredentials>;

function checkSerial(device: PresentedDevice, named: string | undefined): void {
  if (named !== undefined) {
    if (isNameOf(named, device)) return;
    refuse('certificate_mismatch', 'serial_number is not that of the client certificate.');
  }
  if (device.family !== familyThatNamesItself) return;
  const detail = `devices of the family ${familyThatNamesItself} send it`;
  refuse('field_required', `serial_number is missing: ${detail}.`, {
    errors: [{ pointer: '?serial_number', code: 'field_required', detail }],
  });
}

export function createDeviceCredentials(deps: Deps) {
  const { applications, store, secrets, findPresented, nameMerchant } = deps;
  const domains = new LRUCache<string, string>(atMost(cachedDomainsMax));

  async function userDomainOf(organizationId: string): Promise<string> {
    const known = domains.get(organizationId) ?? (await store.userDomainOf(organizationId));
    if (known === undefined) {
      return refuse('device_not_active', 'The organisation of the device has no user domain.');
    }
    domains.set(organizationId, known);
    return known;
  }

  async function makeApplication(organizationId: string, merchantId: string, name: string) {
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
      // Another device of the merchant was faster.
      if (!(error instanceof Refusal) || error.code !== 'already_exists') throw error;
    }
  }

  async function applicationOf(
    device: PresentedDevice,
    merchantName: string,
  ): Promise<Application> {
    const { organizationId, place } = device;
    const { merchantId } = place;
    const clientId = deviceClientId(merchantId);
    let found = await applications.find(organizationId, clientId);
    if (found === undefined) {
      await makeApplication(organizationId, merchantId, merchantName);
      found = await applications.find(organizationId, clientId);
    }
    if (found !== undefined && mayAct(found, device)) return found;
    return refuse('device_not_active', 'The devices of the merchant are switched off.');
  }

  return {
    userDomainOf,

    /** A merchant at most: the one in whose store the device stands. */
    async of(
      good: GoodCertificate<CertificateHolder>,
      serialNumber: string | undefined,
    ): Promise<MerchantCredentials[]> {
      const device = await findPresented(good);
      checkSerial(device, serialNumber);
      const { organizationId, place } = device;
      const userDomain = await userDomainOf(organizationId);
      const merchantName = await nameMerchant(organizationId, place.merchantId);
      const { clientId } = await applicationOf(device, merchantName);
      const clientSecret = await secrets.mint(device, clientId);
      return [{ merchantName, userDomain, clientId, clientSecret }];
    },
  };
}
