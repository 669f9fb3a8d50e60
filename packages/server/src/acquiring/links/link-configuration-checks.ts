// Checks link configurations in the background, one at a time, and repeats the checks periodically.
import type { Clock, Log } from '../../platform/index.ts';
import type { AcquirerLink } from '../spi/acquirer-spi.ts';
import type { LinkFault } from '../spi/invalid-link-setting.ts';
import { type Inspected, type LinkNames, namesOf } from './link-configuration-errors.ts';

export type LinkInspections = {
  /** Schedules a check if the settings changed or the last check is too old. */
  look(link: AcquirerLink, fingerprint: string): void;
  faultsOf(linkId: string): readonly LinkFault[];
  /** Deletes the state of all other links. */
  keep(linkIds: ReadonlySet<string>): void;
};

type Known = { fingerprint: string; faults: readonly LinkFault[]; dueAt: number };

const againMs = 600_000;
/** Applies after an error or an incomplete check. */
const soonMs = 30_000;

/** @example const inspections = createLinkInspections({ inspect, clock, log }); */
export function createLinkInspections(deps: {
  inspect: (organizationId: string, names: LinkNames) => Promise<Inspected>;
  clock: Clock;
  log: Log;
}): LinkInspections {
  const { inspect, clock, log } = deps;
  const known = new Map<string, Known>();
  let turn: Promise<void> = Promise.resolve();

  async function inspected(link: AcquirerLink, fingerprint: string): Promise<void> {
    const { organizationId, linkId, name } = link;
    const isCurrent = () => known.get(linkId)?.fingerprint === fingerprint;
    if (!isCurrent()) return;
    try {
      const { faults, isUndecided } = await inspect(organizationId, namesOf(link));
      if (!isCurrent()) return;
      for (const { pointer, detail } of faults) {
        log.warn({ link: name, pointer, detail }, 'acquirer link has an invalid setting');
      }
      const pause = isUndecided || faults.length > 0 ? soonMs : againMs;
      known.set(linkId, { fingerprint, faults, dueAt: clock.now() + pause });
    } catch (error) {
      log.error({ err: error, link: name }, 'configuration check of an acquirer link failed');
      if (isCurrent()) known.set(linkId, { fingerprint, faults: [], dueAt: clock.now() + soonMs });
    }
  }

  return {
    look(link, fingerprint) {
      const before = known.get(link.linkId);
      const isSame = before?.fingerprint === fingerprint;
      if (isSame && clock.now() < before.dueAt) return;
      const faults = isSame ? before.faults : [];
      known.set(link.linkId, { fingerprint, faults, dueAt: Number.POSITIVE_INFINITY });
      turn = turn.then(() => inspected(link, fingerprint));
    },
    faultsOf: (linkId) => known.get(linkId)?.faults ?? [],
    keep(linkIds) {
      for (const linkId of known.keys()) if (!linkIds.has(linkId)) known.delete(linkId);
    },
  };
}
