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
import type { Asking } from '../claims.ts';
import type { PlacedTerminal } from '../devices.ts';
import { Fault } from '../faults.ts';
import type { Presence } from '../presence.ts';
import type { RetailDeps } from './deps.ts';
import { refuseUnknownDevice } from './refusals.ts';
import type { Sight } from './store.ts';

export type Terminals = ReturnType<typeof createTerminals>;

const merchantOf = ({ entityType, entityId, merchantId }: Caller) =>
  entityType === 'merchant' ? entityId : merchantId;

/** The messages that a caller may see. */
export const sightOf = (caller: Caller): Sight => ({
  merchantId: merchantOf(caller),
  storeId: caller.storeId,
});

type Deps = Pick<RetailDeps, 'relay' | 'provisioning' | 'catalog'>;

/** @example const { items, next } = await terminals.ofStore(asking, storeId, page); */
export function createTerminals({ relay, provisioning, catalog }: Deps) {
  /** A card contract belongs to the store, so all of its terminals use it. */
  async function takesCards({ organizationId }: Caller, storeId: string): Promise<boolean> {
    try {
      const { contracts } = await provisioning.placeOf(organizationId, { storeId });
      return contracts.length > 0;
    } catch (error) {
      // A store that is disabled or has no contract accepts no cards.
      if (error instanceof ProblemError) return false;
      throw error;
    }
  }

  async function isClaimed(asking: Asking, tsn: string): Promise<boolean> {
    try {
      return (await relay.claims.status(asking, tsn)).claimed;
    } catch (error) {
      // A terminal that the connector refuses has no claim.
      if (error instanceof Fault) return false;
      throw error;
    }
  }

  async function methodsOf({ organizationId, logicalDeviceId }: Terminal, cards: boolean) {
    if (logicalDeviceId === undefined) return [];
    const services = await catalog.listActiveServices(organizationId, logicalDeviceId);
    const types = services.flatMap(({ paymentTypes }) => paymentTypes);
    return [...new Set([...(cards ? ['card'] : []), ...types])];
  }

  async function viewOf(
    asking: Asking,
    terminal: Terminal,
    { seen, cards }: { seen: Presence | undefined; cards: boolean },
  ): Promise<RetailDevice> {
    const { tsn, physicalDeviceId, logicalDeviceId, family, isEnabled } = terminal;
    const online = seen?.isOnline ?? false;
    const [claimed, paymentMethods] = await Promise.all([
      online && isClaimed(asking, tsn),
      methodsOf(terminal, cards),
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
        lastSeenAt: seen === undefined ? undefined : isoTime(seen.lastSeenAt),
      }),
    };
  }

  return {
    /**
     * An unknown terminal and a terminal of another organisation or merchant give the same error.
     */
    async find(caller: Caller, tsn: string): Promise<Terminal> {
      const found = await provisioning.terminals.find(caller.organizationId, tsn);
      const merchantId = merchantOf(caller);
      const isIn = merchantId === undefined || merchantId === found?.merchantId;
      if (found === undefined || !isIn) return refuseUnknownDevice();
      if (caller.storeId !== undefined && caller.storeId !== found.storeId) {
        throwProblem('wrong_store', connectorFaults.wrong_store.summary);
      }
      return found;
    },

    /** Safe after the connector has checked the terminal. */
    placed: (terminal: Terminal): PlacedTerminal => terminal as PlacedTerminal,

    async ofStore(
      asking: Asking,
      storeId: string,
      { limit, after }: PageRequest,
    ): Promise<FoundPage<RetailDevice>> {
      const { caller } = asking;
      const { organizationId } = caller;
      const merchantId = merchantOf(caller);
      const isOther = caller.storeId !== undefined && caller.storeId !== storeId.toLowerCase();
      if (isOther) throwProblem('store_not_found', 'No store in your scope has this identifier.');
      const scope = { organizationId, ...defined({ merchantId }) };
      const { view } = await provisioning.stores.get(scope, storeId);
      const page = { limit: limit + 1, ...defined({ after }) };
      const found = await provisioning.terminals.inStore(organizationId, view.storeId, page);
      const shown = found.slice(0, limit);
      const ids = shown.map(({ physicalDeviceId }) => physicalDeviceId);
      const [seen, cards] = await Promise.all([
        relay.presence.of(organizationId, ids),
        takesCards(caller, view.storeId),
      ]);
      const items = await Promise.all(
        shown.map((terminal) =>
          viewOf(asking, terminal, { seen: seen.get(terminal.physicalDeviceId), cards }),
        ),
      );
      return { items, next: found.length > limit ? ids.at(-1) : undefined };
    },
  };
}
