/** Gives the browser a file to keep. */
import { callRaw } from './client.ts';
import { fetchFile } from './fetch-file.ts';

const exportLimitMs = 15 * 60_000;

export function saveBlob(content: Blob, fileName: string): void {
  const address = URL.createObjectURL(content);
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
  URL.revokeObjectURL(address);
}

export async function saveFile(answer: Response, fileName: string): Promise<void> {
  saveBlob(await answer.blob(), fileName);
}

/** The content of an export: where the connection breaks, or the platform starts anew, it goes on. */
export async function saveExport(exportId: string, fileName: string): Promise<void> {
  const content = await fetchFile({
    ask: (headers) =>
      callRaw('GET', `/reporting/v1/exports/${exportId}/content`, {
        headers,
        limitMs: exportLimitMs,
      }),
    wait: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  });
  saveBlob(content, fileName);
}
