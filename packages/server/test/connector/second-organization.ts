// A second organisation at the server of the connector tests, with its own terminal and application.
import { systemIdGenerator } from '../../src/platform/index.ts';
import type { TestTerminal } from '../support/provisioning/test-devices.ts';
import { merchantBody } from '../support/provisioning/test-provisioning.ts';
import type { Client, TestConnector } from './test-connector.ts';

export type ForeignTerminal = TestTerminal & {
  readonly organizationId: string;
  readonly userDomainId: string;
  readonly client: Client;
};

export async function createForeignTerminal(
  setup: TestConnector,
  facts: { serialNumber?: string; model?: string; client?: Client } = {},
): Promise<ForeignTerminal> {
  const { provisioning, identity } = setup;
  const organizationId = systemIdGenerator.uuid();
  const userDomainId = `r${organizationId}`;
  const scope = { organizationId };
  await provisioning.organizations.create(scope, { name: 'Other' }, organizationId);
  await identity.createUserDomain({ userDomainId, organizationId });
  const { merchantId } = (await provisioning.merchants.create(scope, merchantBody('Shop'))).view;
  const { storeId } = (await provisioning.stores.create(scope, { merchantId, name: 'S' })).view;
  const logicalDevice = await provisioning.logicalDevices.create(scope, { storeId, name: 'Till' });
  const { logicalDeviceId } = logicalDevice.view;
  const serialNumber = facts.serialNumber ?? `S${organizationId.slice(-10)}`;
  const hardware = { make: 'AXIUM', model: facts.model ?? 'DX8000', family: 'axium', merchantId };
  const made = await provisioning.physicalDevices.create(scope, { serialNumber, ...hardware });
  const { physicalDeviceId, tsn } = made.view;
  await provisioning.logicalDevices.linkPhysicalDevices(scope, logicalDeviceId, [physicalDeviceId]);
  const client = await identity.createApplication({
    organizationId,
    userDomainId,
    name: 'Till',
    entityType: 'tenant' as const,
    entityId: organizationId,
    roles: ['PointOfSaleTerminal'],
    securityFlows: ['ClientCredentials'],
    ...facts.client,
  });
  const terminal = { merchantId, storeId, logicalDeviceId, physicalDeviceId, serialNumber, tsn };
  return { ...terminal, organizationId, userDomainId, client };
}
