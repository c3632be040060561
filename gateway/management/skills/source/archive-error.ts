/** The archive is damaged, too large, or holds something other than files and folders. */
export class ArchiveError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'ArchiveError';
  }
}
