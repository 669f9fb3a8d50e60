// Takes the release notes of a version from the changelog.

/**
 * The text below the heading of the version, up to the next heading of the same or a higher level.
 *
 * @throws Error if no heading begins with the version
 */
export function readReleaseNotes(changelog: string, version: string): string {
  const lines = changelog.split('\n');
  const levelOf = (line: string): number => /^(#+) /.exec(line)?.[1]?.length ?? 0;
  const isHeading = (line: string) =>
    levelOf(line) > 0 && /^[\d.]+[\w.-]*/.exec(line.replace(/^#+ \[?/, ''))?.[0] === version;
  const start = lines.findIndex(isHeading);
  const heading = lines[start];
  if (heading === undefined) throw new Error(`CHANGELOG.md has no heading ${version}`);
  const rest = lines.slice(start + 1);
  const length = rest.findIndex((line) => levelOf(line) > 0 && levelOf(line) <= levelOf(heading));
  const text = rest.slice(0, length === -1 ? undefined : length).join('\n');
  return `# Switchyard ${version}\n\n${text.trim()}\n`;
}
