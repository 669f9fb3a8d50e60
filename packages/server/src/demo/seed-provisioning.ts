// Seeds the data of the demo once, and keeps the changes of users.
import type { CallerScope, Provisioning } from '../provisioning/index.ts';
import {
  acquirerLinkId,
  type DemoMerchant,
  type DemoStore,
  demoMerchants,
  demoServiceProvider,
  organizationId,
} from './demo-data.ts';

const scope: CallerScope = { organizationId };
const simulatorHost = '127.0.0.1';
/** The names of keys that the software HSM of the demo always has. */
const linkKeys = {
  zonePinKey: { keyRef: 'demo-zpk', format: 'ISO0' },
  zoneMasterKey: { keyRef: 'demo-zmk' },
} as const;

/** Creates the organisation, merchants, stores, devices and the link to the simulated acquirer. */
export async function seedProvisioning(
  provisioning: Provisioning,
  acquirerPort: number,
): Promise<void> {
  const organization = { name: 'Northgate Acquiring', externalId: 'demo' };
  await provisioning.organizations.createIfNew(scope, organization, organizationId);
  await seedServiceProvider(provisioning);
  await seedLink(provisioning, acquirerPort);
  for (const merchant of demoMerchants) await seedMerchant(provisioning, merchant);
}

/** Creates the same organisation as an approved sign-up. */
async function seedServiceProvider({ organizations }: Provisioning): Promise<void> {
  const { organizationId: providerId, name } = demoServiceProvider;
  const organization = { name, labels: { persona: 'ServiceProvider' } };
  await organizations.createIfNew({ organizationId: providerId }, organization, providerId);
}

/** The link follows the simulator port in the settings, unless a user has deleted the link. */
async function seedLink({ acquirerLinks }: Provisioning, port: number): Promise<void> {
  const link = {
    name: 'simulator',
    host: simulatorHost,
    port,
    tls: false,
    institutionId: '100001',
    ...linkKeys,
  };
  if (await acquirerLinks.createIfNew(scope, link, acquirerLinkId)) return;
  const { items } = await acquirerLinks.list(scope, { name: link.name }, { limit: 1 });
  const [existingLink] = items;
  if (existingLink === undefined || existingLink.acquirerLinkId !== acquirerLinkId) return;
  if (existingLink.host !== simulatorHost) return;
  // A data directory from before PIN support has a link without keys.
  const hasNoKeys = existingLink.zonePinKey === undefined;
  if (existingLink.port === port && !hasNoKeys) return;
  const { zonePinKey: zone_pin_key, zoneMasterKey: zone_master_key } = linkKeys;
  const columns = { port, ...(hasNoKeys ? { zone_pin_key, zone_master_key } : {}) };
  await acquirerLinks.change(scope, acquirerLinkId, undefined, async () => columns);
}

async function seedMerchant(provisioning: Provisioning, merchant: DemoMerchant): Promise<void> {
  const { merchantId, contractId, stores, ...members } = merchant;
  const { acquirerMerchantId, terminalIdRange, overCapturePercent, ...merchantInput } = members;
  await provisioning.merchants.createIfNew(scope, merchantInput, merchantId);
  await provisioning.acquirerContracts.createIfNew(
    scope,
    {
      merchantId,
      acquirerLink: acquirerLinkId,
      acquirerMerchantId,
      terminalIdRange,
      currencies: ['EUR', 'USD', 'JPY'],
      captureModes: ['Immediate', 'Deferred'],
      defaultCaptureMode: 'Immediate',
      partialCancel: true,
      multipleCapture: true,
      overCapturePercent,
      clearCardData: 'Allowed',
      offlineLimits: {
        maxAmounts: { EUR: 100_000, USD: 100_000, JPY: 100_000 },
        maxAgeHours: 168,
        maxCount: 1000,
      },
    },
    contractId,
  );
  for (const store of stores) await seedStore(provisioning, merchantId, store);
}

async function seedStore(
  provisioning: Provisioning,
  merchantId: string,
  { storeId, name, address, devices }: DemoStore,
): Promise<void> {
  await provisioning.stores.createIfNew(scope, { merchantId, name, address }, storeId);
  for (const device of devices) {
    const { logicalDeviceId, physicalDeviceId, make, model, family, serialNumber } = device;
    const hardware = { merchantId, make, model, family, serialNumber };
    const isNewTerminal = await provisioning.physicalDevices.createIfNew(
      scope,
      hardware,
      physicalDeviceId,
    );
    if (isNewTerminal) {
      await provisioning.terminalClaims.claimByOperator(organizationId, physicalDeviceId);
    }
    const logicalDevice = { storeId, name: device.name };
    const isNew = await provisioning.logicalDevices.createIfNew(
      scope,
      logicalDevice,
      logicalDeviceId,
    );
    if (isNew)
      await provisioning.logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [
        physicalDeviceId,
      ]);
  }
}
