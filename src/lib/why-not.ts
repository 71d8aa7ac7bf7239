/** Why a file cannot be read or written, in a few words for a person. */
export function whyNot(cause: unknown): string {
  const { code, message } = cause as NodeJS.ErrnoException;
  return WORDS[code ?? ''] ?? message;
}

const WORDS: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file or folder',
  EACCES: 'permission denied',
  EPERM: 'permission denied',
  EIO: 'the disk reports errors',
  EISDIR: 'it is a folder',
  ENOTDIR: 'part of the path is a file, not a folder',
  EEXIST: 'it exists already',
  EROFS: 'the file system is read-only',
  ENOSPC: 'the disk is full (df -h, df -i)',
  EDQUOT: 'the quota of the disk is used up',
  EPIPE: 'what read it has ended',
};
