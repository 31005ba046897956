"""How much of a file is read. Every message about a limit says one of these numbers."""

MAX_BYTES = 50 * 2**20
"""Of the file as it comes."""
MAX_UNPACKED = 100 * 2**20
"""Of what a packed file holds: the text in a gzip archive, all parts of a workbook, the pages of a Parquet file."""
MAX_RATIO = 300
"""Unpacked to packed, of a workbook that unpacks to more than a tenth of MAX_UNPACKED; real ones stay below 50."""
MAX_PARTS = 2_000
"""Files in a workbook, row groups in a Parquet file."""
MAX_COLUMNS = 2_000
MAX_CELLS = 30_000_000
"""Rows times columns; more than any text of MAX_BYTES has."""
MAX_SHEET_ROWS = 1_048_576
"""The last row that Excel knows."""
MAX_VALUES_IN_A_LINE = 100_000
MAX_CHARACTERS = 131_072
"""Of one cell; what the csv module takes by default."""

MAX_SECONDS = 20.0
"""What a process that reads a file may take."""
MAX_MEMORY = 2 * 2**30
"""What it may use; a text of MAX_BYTES needs less than half of it."""
