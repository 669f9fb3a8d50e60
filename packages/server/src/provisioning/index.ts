// The interface of provisioning: organisations, merchants, stores, devices and acquirer contracts.
import type {
  AcquirerContract as AcquirerContractView,
  AcquirerLink,
  Merchant,
  Organization,
  PhysicalDevice,
  Store,
} from '@switchyard/contract';
import type { FastifyInstance } from 'fastify';
import type { AuditRecorder } from '../audit/index.ts';
import type { AddressGuard, Clock, Database, Ids, Jobs } from '../platform/index.ts';
import { createAcquirerContracts } from './acquirers/acquirer-contracts.ts';
import { registerAcquirerLinkApprovalRoutes } from './acquirers/acquirer-link-approval-routes.ts';
import {
  type AcquirerLinkApprovals,
  createAcquirerLinkApprovals,
} from './acquirers/acquirer-link-approvals.ts';
import {
  builtInDialects,
  createAcquirerLinks,
  type HostDialect,
} from './acquirers/acquirer-links.ts';
import type { CheckLinkKeys } from './acquirers/check-link-keys.ts';
import type { LinkSigningKeys } from './acquirers/http-link-settings.ts';
import {
  createFindInstitutionId,
  createListLinksToOpen,
  type LinkToOpen,
} from './acquirers/links-to-open.ts';
import { registerBulkImportRoutes } from './bulk-import/bulk-import-routes.ts';
import { createBulkImports } from './bulk-import/run-bulk-import.ts';
import { createDeviceFinder, type FoundDevice } from './devices/find-device.ts';
import { createTerminalFinder, type TerminalFinder } from './devices/find-terminals.ts';
import { createLogicalDevices, type LogicalDevices } from './devices/logical-devices.ts';
import { createPhysicalDevices } from './devices/physical-devices.ts';
import {
  createPointsOfSale,
  type PointsOfSale,
  type PosClients,
} from './devices/points-of-sale.ts';
import { registerTerminalClaimRoutes } from './devices/terminal-claim-routes.ts';
import { createTerminalClaims, type TerminalClaims } from './devices/terminal-claims.ts';
import { registerProvisioningRoutes } from './entity-routes.ts';
import { createMerchants } from './merchants/merchants.ts';
import { createStores } from './merchants/stores.ts';
import {
  type CachedOrganization,
  createOrganizationCache,
} from './organizations/organization-tree.ts';
import { createOrganizations, createSubOrganizations } from './organizations/organizations.ts';
import { noUserDomains, type UserDomains } from './organizations/user-domain-port.ts';
import type { ResourceDeps, ResourceOperations } from './resources/resource-operations.ts';
import { createSaleEntityResolver } from './sale-entities/resolve-merchant-and-contracts.ts';
import type {
  AcquirerContract,
  MerchantAndPlace,
  SaleEntities,
  SaleEntityIds,
  TokenBinding,
} from './sale-entities/sale-entities.ts';
import { createEntitySearch, type SearchEntities } from './search/search-entities.ts';
import { registerSearchRoute } from './search/search-routes.ts';

export { isTerminalOfHost } from './acquirers/acquirer-sql.ts';
export type { LinkKeyNames } from './acquirers/check-link-keys.ts';
export { findAcquirerLinks, type LinkToOpen } from './acquirers/links-to-open.ts';
export type { FoundDevice } from './devices/find-device.ts';
export type { Terminal, TerminalFinder } from './devices/find-terminals.ts';
export type { PointsOfSale } from './devices/points-of-sale.ts';
export type { TerminalClaims } from './devices/terminal-claims.ts';
export type { PostalAddress } from './merchants/format-address-line.ts';
export type { CachedOrganization } from './organizations/organization-tree.ts';
export type { UserDomains } from './organizations/user-domain-port.ts';
export type { CallerScope } from './resources/caller-scope.ts';
export type { ResourceOperations } from './resources/resource-operations.ts';
export type {
  AcquirerContract,
  CaptureMode,
  MerchantAndPlace,
  OfflineLimits,
  SaleEntities,
  SaleEntityIds,
  TokenBinding,
} from './sale-entities/sale-entities.ts';

export type ProvisioningDeps = {
  readonly database: Database;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly audit: AuditRecorder;
  /** If absent, the results of imports are never deleted; for tests only. */
  readonly jobs?: Pick<Jobs, 'handle' | 'enqueue'>;
  /** If absent, no point of sale can be created; for tests only. */
  readonly posClients?: () => PosClients;
  /** The dialects of the hosts; if absent, the built-in dialects. */
  readonly dialects?: () => readonly HostDialect[];
  /** The allowed `host:port` targets of links without TLS; if absent, every loopback port. */
  readonly acquirerProxies?: readonly string[] | undefined;
  /** In the demo, acquirer links need no approval by the operator. */
  readonly approvesLinksAtOnce?: boolean;
  /** If absent, an acquirer link may lead to any host; for tests only. */
  readonly linkGuard?: AddressGuard;
  /** If absent, no acquirer link shows the signing keys of the platform. */
  readonly signingKeys?: LinkSigningKeys;
  /** If absent, the server does not check the keys and certificates that a link names. */
  readonly checkLinkKeys?: CheckLinkKeys;
  /** If absent, no organisation has a user domain; for tests only. */
  readonly userDomains?: UserDomains;
  /** If absent, no organisation is the operator, and conflicts about terminals stay open. */
  readonly isOperator?: (organizationId: string) => Promise<boolean>;
};

export type Provisioning = {
  register(app: FastifyInstance): void;
  /**
   * Finds the merchant, store, device and contracts of a sale. Entities outside `within` (the
   * binding of the token) are treated as unknown. It throws a ProblemError; a cache hit takes less than
   * a microsecond.
   */
  resolveSaleEntities(
    organizationId: string,
    names: SaleEntityIds,
    within?: TokenBinding,
  ): Promise<SaleEntities>;
  /** The same for transactions without a card acquirer: `contracts` may be empty. */
  resolveWithoutAcquirer(
    organizationId: string,
    names: SaleEntityIds,
    within?: TokenBinding,
  ): Promise<MerchantAndPlace>;
  /** Finds the contract of an earlier transaction, even if it was disabled or deleted since. */
  findContract(organizationId: string, contractId: string): Promise<AcquirerContract | undefined>;
  /** Finds the acquirer of a link of an earlier transaction, even if the link was removed since. */
  findInstitutionId(organizationId: string, linkId: string): Promise<string | undefined>;
  /**
   * Lists the approved and enabled links of all organisations, for the process that keeps them
   * open. It also lists the links in `alsoLinkIds`, even if they are disabled or removed.
   */
  listLinksToOpen(alsoLinkIds?: readonly string[]): Promise<LinkToOpen[]>;
  /**
   * Finds an enabled device by its identifier, by the identifier of its hardware, or by serial
   * number (`MAKE_MODEL-serial` or the serial alone); with a merchant, only a device of that
   * merchant.
   */
  findDevice(
    organizationId: string,
    merchantId: string | undefined,
    nameOrId: string,
  ): Promise<FoundDevice | undefined>;
  /** Finds terminals by name, enabled or not. */
  readonly terminals: TerminalFinder;
  readonly terminalClaims: TerminalClaims;
  /** Cached for a few seconds; undefined if there is no such organisation, or it was removed. */
  findOrganization(organizationId: string): Promise<CachedOrganization | undefined>;
  /** The organisations above one, from the top down; empty if the organisation does not exist. */
  listAncestorIds(organizationId: string): Promise<readonly string[]>;
  readonly organizations: ResourceOperations<Organization>;
  readonly merchants: ResourceOperations<Merchant>;
  readonly stores: ResourceOperations<Store>;
  readonly logicalDevices: LogicalDevices;
  readonly physicalDevices: ResourceOperations<PhysicalDevice>;
  readonly pointsOfSale: PointsOfSale;
  /** Searches the provisioned entities of every type. */
  readonly search: SearchEntities;
  readonly acquirerLinks: ResourceOperations<AcquirerLink>;
  readonly acquirerContracts: ResourceOperations<AcquirerContractView>;
  /**
   * The operator approves the host and port of an acquirer link; a link that is approved stays so.
   *
   * @throws ProblemError concurrent_modification if the link leads to another host or port,
   *   resource_not_found
   */
  readonly approveAcquirerLink: AcquirerLinkApprovals['approveAs'];
};

function throwNoPosClients(): never {
  throw new Error('no provider of credentials for points of sale is configured');
}

/** @example const provisioning = createProvisioning({ database, clock, ids, audit }); */
export function createProvisioning(options: ProvisioningDeps): Provisioning {
  const { database, clock, ids, audit, userDomains = noUserDomains } = options;
  const saleEntities = createSaleEntityResolver({ database, clock });
  const devices = createDeviceFinder({ database, clock });
  const terminals = createTerminalFinder({ database, clock });
  const onWrite = (organizationId: string) => {
    for (const cache of [saleEntities, devices, terminals])
      cache.invalidateOrganization(organizationId);
  };
  const organizationCache = createOrganizationCache({ database, clock, userDomains });
  /** The move or the disabling of an organisation also affects everything below it. */
  const onOrganizationWrite = () => {
    for (const { clear } of [organizationCache, saleEntities, devices, terminals]) clear();
  };
  const isOperator = options.isOperator ?? (async () => false);
  const deps: ResourceDeps = { database, clock, ids, audit, onWrite };
  const organizationDeps = { ...deps, onWrite: onOrganizationWrite, userDomains };
  const posClients = options.posClients ?? throwNoPosClients;
  const dialects = options.dialects ?? (() => builtInDialects);
  const resources = {
    organizations: createOrganizations(organizationDeps),
    merchants: createMerchants(deps),
    stores: createStores(deps),
    logicalDevices: createLogicalDevices(deps),
    physicalDevices: createPhysicalDevices(deps),
    pointsOfSale: createPointsOfSale(deps, posClients),
    acquirerLinks: createAcquirerLinks(deps, {
      dialects,
      proxies: options.acquirerProxies,
      guard: options.linkGuard,
      isApprovedAtOnce: async (organizationId) =>
        options.approvesLinksAtOnce === true || (await isOperator(organizationId)),
      signingKeys: options.signingKeys,
      checkKeys: options.checkLinkKeys,
    }),
    acquirerContracts: createAcquirerContracts(deps, { dialects }),
  };
  const terminalClaims = createTerminalClaims({
    ...deps,
    isOperator,
  });
  const linkApprovals = createAcquirerLinkApprovals({ ...deps, isOperator });
  const search = createEntitySearch(database);
  const bulk = createBulkImports({
    database,
    clock,
    ids,
    audit,
    onWrite,
    posClients,
    jobs: options.jobs,
  });
  return {
    ...resources,
    approveAcquirerLink: linkApprovals.approveAs,
    search,
    register(app) {
      const organizations = createSubOrganizations(resources.organizations, userDomains);
      registerProvisioningRoutes(app, { ...resources, organizations });
      registerSearchRoute(app, search);
      registerAcquirerLinkApprovalRoutes(app, linkApprovals);
      registerTerminalClaimRoutes(app, terminalClaims);
      registerBulkImportRoutes(app, { bulk, ids });
    },
    findOrganization: organizationCache.find,
    listAncestorIds: organizationCache.listAncestorIds,
    resolveSaleEntities: saleEntities.resolveSaleEntities,
    resolveWithoutAcquirer: saleEntities.resolveWithoutAcquirer,
    findContract: saleEntities.findContract,
    findDevice: devices.find,
    terminals,
    terminalClaims,
    listLinksToOpen: createListLinksToOpen(database),
    findInstitutionId: createFindInstitutionId(database),
  };
}
