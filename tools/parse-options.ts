// Parses the command line of a tool.
import { type ParseArgsConfig, parseArgs } from 'node:util';

/** The command line is wrong; the tool prints its usage. */
export class UsageError extends Error {}

/**
 * Like `parseArgs` of Node.
 *
 * @throws UsageError
 */
export function parseOptions<const Config extends ParseArgsConfig>(config: Config) {
  try {
    return parseArgs(config);
  } catch (error) {
    // The second sentence of Node is a hint about file names that begin with a dash.
    const [firstSentence = ''] = (error instanceof Error ? error.message : String(error)).split(
      '. ',
    );
    throw new UsageError(firstSentence);
  }
}
