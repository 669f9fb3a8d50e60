// Finds the terminals that a caller may see, and the status of the terminals of a store.
import {
  connectorFaults,
  defined,
  ProblemError,
  type RetailDevice,
  throwProblem,
} from '@switchyard/contract';
import type { Caller, FoundPage, PageRequest } from '../../http/index.ts';
import { isoTime } from '../../platform/index.ts';
import type { Terminal } from '../../provisioning/index.ts';
import type { AssignedTerminal } from '../devices/check-device-access.ts';
import type { DevicePresence } from '../devices/device-presence.ts';
import type { PosCaller } from '../pos/claim-requests.ts';
import { ConnectorFault } from '../protocol/connector-fault.ts';
import type { MessageScope } from './message-store.ts';
import type { RetailApiDeps } from './retail-dependencies.ts';
import { throwUnknownDevice } from './retail-problems.ts';

export type RetailTerminals = ReturnType<typeof createRetailTerminals>;

const merchantIdOf = ({ entityType, entityId, merchantId }: Caller) =>
  entityType === 'merchant' ? entityId : merchantId;

/** The messages that a caller may see. */
export const messageScopeOf = (caller: Caller): MessageScope => ({
  merchantId: merchantIdOf(caller),
  storeId: caller.storeId,
});

type Deps = Pick<RetailApiDeps, 'connector' | 'provisioning' | 'catalog'>;

/** @example const { items, next } = await terminals.listOfStore(posCaller, storeId, page); */
export function createRetailTerminals({ connector, provisioning, catalog }: Deps) {
  /** A card contract belongs to the store, so all of its terminals use it. */
  async function acceptsCards({ organizationId }: Caller, storeId: string): Promise<boolean> {
    try {
      const { contracts } = await provisioning.resolveWithoutAcquirer(organizationId, { storeId });
      return contracts.length > 0;
    } catch (error) {
      // A store that is disabled or has no contract accepts no cards.
      if (error instanceof ProblemError) return false;
      throw error;
    }
  }

  async function isClaimed(posCaller: PosCaller, tsn: string): Promise<boolean> {
    try {
      return (await connector.claims.status(posCaller, tsn)).claimed;
    } catch (error) {
      // A terminal that the connector refuses has no claim.
      if (error instanceof ConnectorFault) return false;
      throw error;
    }
  }

  async function paymentMethodsOf(
    { organizationId, logicalDeviceId }: Terminal,
    hasCards: boolean,
  ) {
    if (logicalDeviceId === undefined) return [];
    const services = await catalog.listActiveServices(organizationId, logicalDeviceId);
    const types = services.flatMap(({ paymentTypes }) => paymentTypes);
    return [...new Set([...(hasCards ? ['card'] : []), ...types])];
  }

  async function toRetailDevice(
    posCaller: PosCaller,
    terminal: Terminal,
    { presence, cards: hasCards }: { presence: DevicePresence | undefined; cards: boolean },
  ): Promise<RetailDevice> {
    const { tsn, physicalDeviceId, logicalDeviceId, family, isEnabled } = terminal;
    const online = presence?.isOnline ?? false;
    const [claimed, paymentMethods] = await Promise.all([
      online && isClaimed(posCaller, tsn),
      paymentMethodsOf(terminal, hasCards),
    ]);
    return {
      tsn,
      physicalDeviceId,
      family,
      enabled: isEnabled,
      online,
      claimed,
      paymentMethods,
      ...defined({
        deviceId: logicalDeviceId,
        lastSeenAt: presence === undefined ? undefined : isoTime(presence.lastSeenAt),
      }),
    };
  }

  return {
    /**
     * An unknown terminal and a terminal of another organisation or merchant give the same error.
     */
    async find(caller: Caller, tsn: string): Promise<Terminal> {
      const terminals = await provisioning.terminals.find(caller.organizationId, tsn);
      const merchantId = merchantIdOf(caller);
      const isInScope = merchantId === undefined || merchantId === terminals?.merchantId;
      if (terminals === undefined || !isInScope) return throwUnknownDevice();
      if (caller.storeId !== undefined && caller.storeId !== terminals.storeId) {
        throwProblem('wrong_store', connectorFaults.wrong_store.summary);
      }
      return terminals;
    },

    /** Safe after the connector has checked the terminal. */
    asAssigned: (terminal: Terminal): AssignedTerminal => terminal as AssignedTerminal,

    async listOfStore(
      posCaller: PosCaller,
      storeId: string,
      { limit, after }: PageRequest,
    ): Promise<FoundPage<RetailDevice>> {
      const { caller } = posCaller;
      const { organizationId } = caller;
      const merchantId = merchantIdOf(caller);
      const isOtherStore = caller.storeId !== undefined && caller.storeId !== storeId.toLowerCase();
      if (isOtherStore)
        throwProblem('store_not_found', 'No store that you may see has this identifier.');
      const scope = { organizationId, ...defined({ merchantId }) };
      const { view } = await provisioning.stores.get(scope, storeId);
      const page = { limit: limit + 1, ...defined({ after }) };
      const terminals = await provisioning.terminals.listInStore(
        organizationId,
        view.storeId,
        page,
      );
      const pageTerminals = terminals.slice(0, limit);
      const ids = pageTerminals.map(({ physicalDeviceId }) => physicalDeviceId);
      const [presence, hasCards] = await Promise.all([
        connector.presence.find(organizationId, ids),
        acceptsCards(caller, view.storeId),
      ]);
      const items = await Promise.all(
        pageTerminals.map((terminal) =>
          toRetailDevice(posCaller, terminal, {
            presence: presence.get(terminal.physicalDeviceId),
            cards: hasCards,
          }),
        ),
      );
      return { items, next: terminals.length > limit ? ids.at(-1) : undefined };
    },
  };
}
