/** Downloads files in the browser. */

function clickDownloadLink(address: string, fileName: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
}

export async function downloadFile(answer: Response, fileName: string): Promise<void> {
  const address = URL.createObjectURL(await answer.blob());
  clickDownloadLink(address, fileName);
  URL.revokeObjectURL(address);
}

/** The browser downloads the export itself, so it can resume a large file. */
export const exportUrl = (exportId: string): string => `/reporting/v1/exports/${exportId}/content`;

export const downloadExport = (exportId: string, fileName: string): void =>
  clickDownloadLink(exportUrl(exportId), fileName);
