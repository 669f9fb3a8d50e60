// Walks through a whole list while rows are added to it, and asks whether each was there exactly once.
import type { ApiClient } from '../environment/send-single-request.ts';

export type Listing = {
  pages: number;
  /** What the walk has seen, and how many were there before it began. */
  listed: number;
  before: number;
  /** Added while it went on. */
  added: number;
  /** Seen twice, and there before but not seen: both must be none. */
  doubled: number;
  missed: number;
  seconds: number;
};

const path = '/provisioning/v2/logical-devices';
const pageSize = 200;

/**
 * @param expected the identifiers that are there before
 * @param add adds one row; asked again and again until the walk is over
 */
export async function walkListing(
  api: ApiClient,
  expected: Iterable<string>,
  add: () => Promise<unknown>,
): Promise<Listing> {
  const missing = new Set(expected);
  const before = missing.size;
  const listedIds = new Set<string>();
  let doubled = 0;
  let pages = 0;
  let added = 0;
  let isOver = false;
  const adding = (async () => {
    while (!isOver) {
      await add();
      added += 1;
    }
  })();
  const began = performance.now();
  try {
    for (let cursor: unknown = ''; cursor !== null; pages += 1) {
      const from = cursor === '' ? '' : `&cursor=${cursor}`;
      const page = await api.call('GET', `${path}?limit=${pageSize}${from}`);
      for (const { logicalDeviceId: id } of page['items'] as { logicalDeviceId: string }[]) {
        if (listedIds.has(id)) doubled += 1;
        listedIds.add(id);
        missing.delete(id);
      }
      cursor = page['nextCursor'];
    }
  } finally {
    isOver = true;
    await adding;
  }
  const seconds = (performance.now() - began) / 1000;
  return { pages, listed: listedIds.size, before, added, doubled, missed: missing.size, seconds };
}
