/** The data directory of a platform on this machine, where the demo writes `demo.json`. */

/**
 * The default of the setting `SWITCHYARD_DATA_DIR`, relative to the current directory.
 *
 * @example
 * const file = join(defaultDataDirectory, 'demo.json');
 */
export const defaultDataDirectory = '.switchyard';

/**
 * Returns the data directory that the environment names.
 *
 * @param env - the environment variables
 * @returns `SWITCHYARD_DATA_DIR`, or the default
 * @example
 * const directory = readDataDirectory(process.env);
 */
export function readDataDirectory(env: Readonly<Record<string, string | undefined>>): string {
  return env['SWITCHYARD_DATA_DIR'] ?? defaultDataDirectory;
}
