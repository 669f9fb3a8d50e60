/** Reads `demo.json`, which a running demo writes: its terminals and points of sale. */
import { join, resolve } from 'node:path';
import { defaultDataDirectory, parseTsn, readDataDirectory } from '@switchyard/contract';
import { listOf, type Members } from '../http/problem-details.ts';
import type { RuntimeEnvironment } from '../runtime/runtime-environment.ts';
import { readDemoFile, requireDemoText } from '../session/profiles.ts';
import { option } from './command-option.ts';

export type DemoConfig = {
  readonly members: Members;
  /** A text member of `source`; by default of the file. @throws CommandError usage */
  text(name: string, source?: Members): string;
  /** The terminals of the demo. */
  readonly devices: readonly (Members & { readonly tsn: string })[];
};

/** The folder of demo.json: by default the data directory of `npm start`. */
export const demoFolder = (
  { env }: Pick<RuntimeEnvironment, 'env'>,
  folderOption: string | undefined,
): string => resolve(folderOption ?? readDataDirectory(env));

export const demoOption = option(
  '--demo <folder>',
  `folder of the demo’s demo.json; default: SWITCHYARD_DATA_DIR, else ${defaultDataDirectory}`,
);

export const tsnOption = option(
  '--tsn <tsn>',
  'terminal serial number (TSN, with make and model) or serial number; default: the first terminal of demo.json',
);

/** @throws CommandError usage, if the file does not exist or cannot be read */
export function readDemoConfig(folder: string): DemoConfig {
  const file = join(folder, 'demo.json');
  const members = readDemoFile(file);
  const text = (name: string, source: Members = members) => requireDemoText(source, name, file);
  const devices = listOf(members['devices']).map((device) => ({
    ...device,
    tsn: text('tsn', device),
  }));
  return { members, text, devices };
}

/** The terminal with this terminal serial number or serial number; by default the first. */
export function findTerminal<Device extends { readonly tsn: string }>(
  devices: readonly Device[],
  requested: string | undefined,
): Device | undefined {
  if (requested === undefined) return devices[0];
  return devices.find(({ tsn }) => tsn === requested || parseTsn(tsn).serialNumber === requested);
}
