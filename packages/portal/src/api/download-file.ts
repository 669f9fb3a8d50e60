/** Gives the browser a file to keep. */

function follow(address: string, fileName: string): void {
  const link = document.createElement('a');
  link.href = address;
  link.download = fileName;
  link.click();
}

export async function saveFile(answer: Response, fileName: string): Promise<void> {
  const address = URL.createObjectURL(await answer.blob());
  follow(address, fileName);
  URL.revokeObjectURL(address);
}

/** Where the browser fetches an export by itself, however large it is: it goes on where it broke off. */
export const exportAddress = (exportId: string): string =>
  `/reporting/v1/exports/${exportId}/content`;

export const saveExport = (exportId: string, fileName: string): void =>
  follow(exportAddress(exportId), fileName);
