// Sums a CPU profile up: where the time was spent itself, by function and by package.

export type CpuProfile = {
  nodes: {
    id: number;
    callFrame: { functionName: string; url: string; lineNumber: number };
    children?: number[];
  }[];
  samples: number[];
  /** µs between a sample and the one before it. */
  timeDeltas: number[];
};

export type ProfileLine = { name: string; selfUs: number; share: number };

const idle = new Set(['(idle)', '(root)']);

/** `payments/sale.ts` of our own files, the package's name of others, node's own modules as they are. */
export function sourceNameOf(url: string): string {
  const foreign = /node_modules\/((?:@[^/]+\/)?[^/]+)/.exec(
    url.slice(url.lastIndexOf('node_modules')),
  );
  if (url.includes('node_modules') && foreign !== null) return foreign[1] ?? url;
  const ownSource = /packages\/(?:server\/src\/)?(.*)$/.exec(url);
  if (ownSource !== null) return ownSource[1] ?? url;
  return url === '' ? 'native' : url;
}

function selfTimes(profile: CpuProfile): Map<number, number> {
  const times = new Map<number, number>();
  profile.samples.forEach((id, index) => {
    times.set(id, (times.get(id) ?? 0) + Math.max(0, profile.timeDeltas[index] ?? 0));
  });
  return times;
}

function sorted(sums: Map<string, number>): ProfileLine[] {
  const total = [...sums.values()].reduce((sum, each) => sum + each, 0);
  return [...sums]
    .map(([name, selfUs]) => ({ name, selfUs, share: selfUs / total }))
    .sort((one, other) => other.selfUs - one.selfUs);
}

/** Busy time alone, most expensive first. */
export function summarizeProfile(profile: CpuProfile): {
  functions: ProfileLine[];
  packages: ProfileLine[];
} {
  const functions = new Map<string, number>();
  const packages = new Map<string, number>();
  const times = selfTimes(profile);
  for (const { id, callFrame } of profile.nodes) {
    const selfUs = times.get(id) ?? 0;
    const { functionName, url, lineNumber } = callFrame;
    // The profiler's own beginning and end are no work of the server.
    if (selfUs === 0 || idle.has(functionName) || url === 'node:inspector') continue;
    const source = sourceNameOf(url);
    const name = `${functionName || '(anonymous)'} ${source}${url === '' ? '' : `:${lineNumber + 1}`}`;
    functions.set(name, (functions.get(name) ?? 0) + selfUs);
    const area = url === '' ? functionName : source;
    packages.set(area, (packages.get(area) ?? 0) + selfUs);
  }
  return { functions: sorted(functions), packages: sorted(packages) };
}
